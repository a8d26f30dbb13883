"""Compare `mpu` with other tools on the same files: time from process start to model on disk, micro-F1, memory."""

import datetime
import sys
from importlib.util import find_spec
from pathlib import Path

import click

from benchmarks import machine, report
from benchmarks.compare import compare
from benchmarks.tools import PEER_PACKAGES, mpu_tools, peer_tools

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command(context_settings={"help_option_names": ["-h", "--help"], "show_default": True})
@click.argument("train", type=FILE)
@click.argument("test", type=FILE)
@click.option("-o", "--output", default="bench", type=click.Path(path_type=Path), help="Folder for all results.")
@click.option("--repetitions", type=click.IntRange(min=1), default=2, help="Trainings a tool; the shortest counts.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), default=3600.0, help="Seconds a run may take.")
@click.option("--peers", help="Python of the environment that the peers are installed in; without, only mpu runs.")
@click.option("--only", multiple=True, help="Only tools whose name contains this; may be given several times.")
def main(
    train: Path, test: Path, output: Path, repetitions: int, timeout: float, peers: str | None, only: tuple[str, ...]
) -> None:
    """Train on TRAIN with each tool, predict TEST, and write results.md, results.csv and results.png.

    \b
    Example:
      python -m benchmarks.run rcv1-train.svm rcv1-test.svm --peers .venv-peers/bin/python
      python -m benchmarks.run rcv1-train.svm rcv1-test.svm --only 'mpu numba' --repetitions 5
    """
    tools = [*mpu_tools((sys.executable, "-m", "mpu_cli")), *(peer_tools(peers) if peers else ())]
    chosen = [tool for tool in tools if not only or any(part in tool.name for part in only)]
    if not chosen:
        raise click.BadParameter(f"no tool is called so; there are {', '.join(tool.name for tool in tools)}")
    output.mkdir(parents=True, exist_ok=True)
    software = machine.versions(sys.executable, ["mpu-cli", "numpy", "scipy", "numba"])
    if peers:
        software += f"; peers: {machine.versions(peers, PEER_PACKAGES)}"
    heading = (
        f"{datetime.date.today()}, {train.name}, {train.stat().st_size / report.MEGABYTE:,.0f} MB, "
        f"{repetitions} repetitions. {machine.describe()}; {software}.\n"
    )
    results = compare(chosen, train, test, output, repetitions, timeout, lambda line: click.echo(line, err=True))
    text = f"{heading}\n{report.markdown(results)}"
    (output / "results.md").write_text(text)
    report.write_csv(results, output / "results.csv")
    if find_spec("matplotlib"):
        report.plot(results, output / "results.png")
    else:
        click.echo("no plot: matplotlib is not installed", err=True)
    click.echo(text, nl=False)


if __name__ == "__main__":
    main()
