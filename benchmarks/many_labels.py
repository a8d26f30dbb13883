"""Compare `mpu` with other tools for many labels: time, memory, size of the model, and the metrics of that field."""

import datetime
import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from benchmarks import machine, measure
from benchmarks.report import MEGABYTE
from benchmarks.tools import PEERS

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
PACKAGES = ("napkinxc", "libmultilabel", "liblinear-multicore", "omikuji", "libpecos", "numpy", "scipy")
TIMED = 5  # labels an instance in the prediction that is timed
RANKED = 20  # and in that which metrics are computed from
DEFAULT_MPU = ("", "--levels 1 --c 1 --cost 300")

_HEADER = (
    *("tool", "train, s", "predict, s", "together, s", "CPU, s", "peak RSS, MB", "model, MB"),
    *("micro-F1, own rule", "macro-F1, own rule", "micro-F1, best threshold", "macro-F1 there"),
    *(f"{name}@{k}" for name in ("P", "PSP") for k in (1, 3, 5)),
)
_QUALITY = (
    *("micro_f1", "macro_f1", "best_micro_f1", "best_macro_f1"),
    *(f"{name}_at_{k}" for name in ("precision", "psp") for k in (1, 3, 5)),
)


@dataclass(frozen=True)
class Tool:
    """A way to learn from a file and to rank the labels of another.

    Attributes
    ----------
    name : str
    train, rank : sequence of str
        Command lines; ``{data}``, ``{model}``, ``{output}`` and ``{labels}`` (how many) stand for what a run has there.
    predict : sequence of str
        Command line that writes label sets by the tool's own rule, not timed; empty where there is none.
    threshold : float or None
        In its place: the score from which on the tool predicts a label.
    sized : bool
        Whether the tool's files begin with a line ``instances features labels``.
    """

    name: str
    train: Sequence[str]
    rank: Sequence[str]
    predict: Sequence[str] = ()
    threshold: float | None = None
    sized: bool = False


# Script in peers/, its method, the tool's own rule, and whether its files say how large they are.
_PEERS = {
    "napkinXC PLT": ("napkin_xc.py", "plt", 0.5, False),
    "napkinXC PLT, AdaGrad": ("napkin_xc.py", "plt-adagrad", 0.5, False),
    "LibMultiLabel tree": ("libmultilabel_linear.py", "tree", 0.5, False),
    "LibMultiLabel tree, -s 2 -B 1 -e 0.0001": ("libmultilabel_linear.py", "tree-example", 0.5, False),
    "LibMultiLabel one-vs-rest": ("libmultilabel_linear.py", "1vsrest", 0.0, False),
    "Omikuji Bonsai": ("omikuji_trees.py", "bonsai", None, True),
    "PECOS XR-Linear": ("pecos_xlinear.py", "xlinear", None, False),
}


def peer_tools(python: str) -> Iterator[Tool]:
    """Give all peers, as run by the Python interpreter of the environment that they are installed in."""
    for name, (script, method, threshold, sized) in _PEERS.items():
        start = (python, str(PEERS / script), method)
        train, rank = (
            (*start, "train", "{data}", "{model}"),
            (*start, "rank", "{model}", "{data}", "{output}", "{labels}"),
        )
        yield Tool(name, train, rank, threshold=threshold, sized=sized)


def mpu_tool(arguments: str) -> Tool:
    """Give `mpu` with arguments of `mpu train`."""
    mpu = (sys.executable, "-m", "mpu_cli")
    predict = (*mpu, "predict", "{model}", "{data}", "-o", "{output}", "--quiet")
    return Tool(
        f"mpu {arguments}".strip(),
        (*mpu, "train", "{data}", "-o", "{model}", "--quiet", *shlex.split(arguments)),
        (*predict, "--format", "scores", "--top-k", "{labels}"),
        predict,
    )


@dataclass(frozen=True)
class Files:
    """The data of a comparison: what all tools learn from, what they predict, and what gives the propensities."""

    train: Path
    test: Path
    complete: Path


def run_tool(tool: Tool, files: Files, folder: Path, timeout: float) -> dict[str, float]:
    """Train, predict, and compute all that the table shows.

    Raises
    ------
    measure.FailedError
        One of the processes failed.
    """
    stem = "".join(letter if letter.isalnum() else "-" for letter in tool.name)
    model, ranking, label_sets = (folder / f"{stem}.{kind}" for kind in ("model", "scores", "labels"))
    if model.is_dir():
        shutil.rmtree(model)
    train, test = (sized(path, folder) if tool.sized else path for path in (files.train, files.test))

    def run(command: Sequence[str], **values: object) -> measure.Usage:
        return measure.run([part.format(model=model, **values) for part in command], timeout)

    training = run(tool.train, data=train)
    prediction = run(tool.rank, data=test, output=ranking, labels=TIMED)
    run(tool.rank, data=test, output=ranking, labels=RANKED)
    rule = []
    if tool.predict:
        run(tool.predict, data=test, output=label_sets)
        rule = ["--label-sets", str(label_sets)]
    elif tool.threshold is not None:
        rule = ["--threshold", str(tool.threshold)]
    command = (sys.executable, "-m", "benchmarks.quality", str(files.complete), str(files.test), str(ranking), *rule)
    found = subprocess.run(command, capture_output=True, text=True)
    if found.returncode:
        raise measure.FailedError(f"quality: {found.stderr.strip().splitlines()[-1]}")
    return {
        "train_seconds": training.seconds,
        "predict_seconds": prediction.seconds,
        "seconds": training.seconds + prediction.seconds,
        "cpu_seconds": training.cpu_seconds + prediction.cpu_seconds,
        "max_rss": max(max(usage.max_rss, usage.anonymous) for usage in (training, prediction)),
        "model_bytes": size(model),
        **json.loads(found.stdout),
    }


def sized(path: Path, folder: Path) -> Path:
    """Copy a LIBSVM file with a first line ``instances features labels`` before it, and return the copy's path."""
    copy = folder / f"{path.stem}-sized.txt"
    instances = features = labels = 0
    with path.open() as lines:
        for line in lines:
            first, *_ = line.split(" ", 1)
            instances += 1
            labels = max(
                [labels, *(int(label) + 1 for label in first.split(",") if label.strip() and ":" not in first)]
            )
            features = max([features, *(int(part.split(":")[0]) + 1 for part in line.split() if ":" in part)])
    with path.open() as source, copy.open("w") as target:
        target.write(f"{instances} {features} {labels}\n")
        shutil.copyfileobj(source, target)
    return copy


def size(path: Path) -> int:
    """Bytes of a file, or of all files of a directory."""
    return sum(part.stat().st_size for part in (path, *path.rglob("*")) if part.is_file())


def row(name: str, result: dict[str, float] | str) -> str:
    """Make a line of the table; a text in place of results says why there are none."""
    if isinstance(result, str):
        return f"| {name} | failed: {result.replace('|', '/')} |" + " |" * (len(_HEADER) - 2)
    cells = [f"{result[key]:.1f}" for key in ("train_seconds", "predict_seconds", "seconds", "cpu_seconds")]
    cells += [f"{result[key] / MEGABYTE:,.0f}" for key in ("max_rss", "model_bytes")]
    cells += [f"{result[key]:.4f}" if key in result else "" for key in _QUALITY]
    return f"| {name} | {' | '.join(cells)} |"


@click.command(context_settings={"help_option_names": ["-h", "--help"], "show_default": True})
@click.argument("train", type=FILE)
@click.argument("test", type=FILE)
@click.option("-o", "--output", default="bench-many", type=click.Path(path_type=Path), help="Folder for all results.")
@click.option(
    "--mpu", "settings", multiple=True, default=DEFAULT_MPU, help="Arguments of `mpu train`; may be repeated."
)
@click.option("--peers", help="Python of the environment that the peers are installed in; without, only mpu runs.")
@click.option("--only", multiple=True, help="Only tools whose name contains this; may be repeated.")
@click.option("--skip", multiple=True, help="No tool whose name contains this; may be repeated.")
@click.option(
    "--missing", type=click.FloatRange(0, 1), default=0.0, help="Share of the training labels to remove first."
)
@click.option("--seed", type=click.IntRange(min=0), default=0, help="Seed of that.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), default=7200.0, help="Seconds a run may take.")
def main(
    train: Path,
    test: Path,
    output: Path,
    settings: tuple[str, ...],
    peers: str | None,
    only: tuple[str, ...],
    skip: tuple[str, ...],
    missing: float,
    seed: int,
    timeout: float,
) -> None:
    """Train on TRAIN with each tool, rank the labels of TEST, and write results.md and results.json.

    A prediction of the five most probable labels is timed. Metrics are those of the 20 most probable ones, and
    propensities those of TRAIN before labels are removed.

    \b
    Example:
      python -m benchmarks.many_labels q-train.svm q-test.svm --peers .venv-peers/bin/python --missing 0.6
      python -m benchmarks.many_labels q-train.svm q-test.svm --mpu '--levels 2' --mpu '--levels 1 --c 1 --cost 300'
    """
    tools = [*map(mpu_tool, settings), *(peer_tools(peers) if peers else ())]
    chosen = [
        tool
        for tool in tools
        if (not only or any(part in tool.name for part in only)) and not any(part in tool.name for part in skip)
    ]
    if not chosen:
        raise click.BadParameter(f"no tool is left; there are {', '.join(tool.name for tool in tools)}")
    output.mkdir(parents=True, exist_ok=True)
    files = Files(train, test, train)
    if missing:
        files = Files(output / f"{train.stem}-missing.svm", test, train)
        command = [sys.executable, "-m", "mpu_cli", "corrupt", train, files.train, "--missing-rate", f"{missing}"]
        subprocess.run([*map(str, command), "--seed", f"{seed}", "--quiet"], check=True)

    software = machine.versions(sys.executable, ["mpu-cli", "numpy", "scipy", "numba"])
    if peers:
        software += f"; peers: {machine.versions(peers, PACKAGES)}"
    lines = [
        f"{datetime.date.today()}, {train.name}, {missing:.0%} of the training labels removed. {machine.describe()}; "
        f"{software}.",
        "",
        f"| {' | '.join(_HEADER)} |",
        "|---" + "|---:" * (len(_HEADER) - 1) + "|",
    ]
    results: dict[str, dict[str, float] | str] = {}
    for tool in chosen:
        try:
            results[tool.name] = run_tool(tool, files, output, timeout)
        except measure.FailedError as error:
            results[tool.name] = str(error)
        lines.append(row(tool.name, results[tool.name]))
        click.echo(lines[-1], err=True)
        (output / "results.md").write_text("\n".join(lines) + "\n")  # what there is so far, should it be stopped
        (output / "results.json").write_text(json.dumps(results, indent=1))
    click.echo((output / "results.md").read_text(), nl=False)


if __name__ == "__main__":
    main()
