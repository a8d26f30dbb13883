"""``mpu experiment``, and its options that are lists: methods with options, missing rates, numbers of instances."""

import math
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mpu_cli.cli.messages import info, is_quiet, verbosity_options, warn
from mpu_cli.cli.options import FILE, Parsed, option, reading_options, run_options
from mpu_cli.errors import CONTROL, MpuError, counted
from mpu_cli.runtime.options import Integer
from mpu_cli.svmlight.grammar import Reading

if TYPE_CHECKING:
    from mpu_cli.runtime.run import Run

_DOTS = "..."
_MOST_RATES = 1000


def methods_of(text: str) -> tuple[str, ...]:
    """Read methods separated by commas, each with its options after colons: ``mpu,mpu:levels=1:cost=30``."""
    from mpu_cli.experiment.methods import make
    from mpu_cli.runtime.run import DEFAULT_RUN

    labels = text.split(",")
    if len(set(labels)) < len(labels):
        raise ValueError("duplicate method")
    if CONTROL.search(text):
        raise ValueError("the name of a method has a control character")
    try:
        for label in labels:
            make(label, DEFAULT_RUN)
    except MpuError as error:
        raise ValueError(str(error)) from None
    return tuple(labels)


def missing_rates_of(text: str) -> tuple[float, ...]:
    """Read numbers from 0 to below 1, separated by commas; dots stand for equal steps: ``0,0.1,...,0.7``."""
    words = text.split(",")
    try:
        if _DOTS in words:
            *head, first, second, dots, last = words
            if dots != _DOTS:
                raise ValueError
            rates = [*map(float, head), *_steps(float(first), float(second), float(last))]
        else:
            rates = [float(word) for word in words]
    except ValueError:
        raise ValueError(f"{text!r} is not a list such as 0,0.3,0.6 or 0,0.1,...,0.7") from None
    if not all(0 <= rate < 1 for rate in rates):
        raise ValueError("missing rates are from 0 to below 1")
    return tuple(sorted(set(rates)))


def _steps(first: float, second: float, last: float) -> list[float]:
    """List numbers from `first` to `last` in steps of the distance between `first` and `second`."""
    count = round((last - first) / (second - first)) if second != first else 0
    if not 1 <= count <= _MOST_RATES or not math.isclose(first + count * (second - first), last):
        raise ValueError
    return [round(first + i * (second - first), 10) for i in range(count + 1)]


def sizes_of(text: str) -> tuple[Any, ...]:
    """Read ascending whole numbers, separated by commas; dots at the end go on by the last factor: Ellipsis."""
    words = text.split(",")
    open_ended = words[-1] == _DOTS
    try:
        sizes = [int(word) for word in words[: -1 if open_ended else None]]
        if open_ended and len(sizes) < 2:
            raise ValueError
    except ValueError:
        raise ValueError(f"{text!r} is not a list such as 6000 or 1000,2000,4000 or 1000,2000,...") from None
    if sizes[0] < 1 or any(b <= a for a, b in pairwise(sizes)):
        raise ValueError("numbers of instances start from 1 and ascend")
    return (*sizes, ...) if open_ended else tuple(sizes)


# Defaults of options, for each preset.
_PRESETS = {
    "paper-small": {
        "methods": "mpu,mpu:levels=1,br,elkan08,m3l-linear,m3l-rbf,well",
        "missing_rates": "0,0.1,...,0.7",
        "folds": 10,
        "instances": "6000",
    },
    "paper-large": {"methods": "mpu,m3l-linear", "missing_rates": "0,0.3,0.6", "folds": 10, "run_folds": 1},
    "paper-time": {
        # With the settings fixed, since by default there are fewer epochs the more instances there are.
        "methods": "mpu:c=0.7:cost=100:epochs=5:folds=3,br:cost=100:epochs=5:folds=3,elkan08:cost=100:epochs=5:folds=3,"
        "m3l-linear:cost=0.5,m3l-rbf:cost=0.5,well",
        "missing_rates": "0.3",
        "folds": 10,
        "run_folds": 1,
        "instances": "4000,8000,...",
        "jobs": 1,
    },
}


def _choose_preset(ctx: click.Context, _param: click.Parameter, value: str | None) -> None:
    if value is not None:
        ctx.default_map = _PRESETS[value]


@click.command("experiment")
@click.argument("sources", metavar="FILE...", nargs=-1, required=True, type=FILE)
@option(
    "--out",
    click.Path(file_okay=False, path_type=Path),
    "Folder for results.csv, summary.md and figures. An unfinished experiment there is continued.",
    required=True,
)
@click.option(
    "--preset",
    type=click.Choice(list(_PRESETS)),
    is_eager=True,
    expose_value=False,
    callback=_choose_preset,
    help="Settings of the paper's experiments, for options that are not set.",
)
@option(
    "--methods",
    Parsed("method[:option=value...],...", methods_of),
    "mpu, mpu-paper, br, elkan08, m3l-linear, m3l-rbf, well, or your own: file.py, or module:Class. Options follow "
    "after colons.",
    default="mpu,br",
)
@option(
    "--missing-rates",
    Parsed("rate,...", missing_rates_of),
    "Shares of the training labels to remove.",
    default="0,0.3,0.6",
)
@option("--scheme", ("uniform", "label"), "How labels are removed; see `mpu corrupt`.", default="uniform")
@option("--removals", Integer(1), "Repeat the removal N times per fold and rate.", default=1)
@option("--folds", Integer(2), "Cross-validation folds.", default=10)
@option("--run-folds", Integer(1), "Test on only N of the folds. Default: all.")
@option(
    "--instances",
    Parsed("n,...", sizes_of),
    "Draw N instances at random; 1000,2000,... doubles up to all. Default: all.",
)
@option(
    "--tuned", bool, "Also measure each method with a threshold chosen on held-out training data by expected micro-F1."
)
@option(
    "--format",
    ("png", "svg", "pdf"),
    "Format of the figures; can be repeated.",
    name="formats",
    multiple=True,
    default=("png", "svg"),
)
@run_options("seed", "jobs", "kernel", jobs="Cells that run at the same time; -1: one per core.")
@reading_options
@verbosity_options
def command(
    sources: tuple[str, ...], out: Path, formats: tuple[str, ...], run: "Run", reading: Reading, **of_design: Any
) -> None:
    """Compare methods by cross-validation. Labels are removed from the training folds only.

    All methods learn from the same instances with the same incomplete labels and are tested on complete labels. FILEs
    are pooled.

    Results are saved after each training. If the command is interrupted, run it again to continue. To repeat a failed
    training, delete its line in results.csv.

    \b
    Example:
      mpu experiment news.svm --methods mpu,mpu:levels=1,br --missing-rates 0,0.1,...,0.7 --out news-results
      mpu experiment --preset paper-small train.svm test.svm --out small
      mpu experiment --preset paper-time news.svm --methods mpu,m3l-linear --out time
    """
    from mpu_cli.experiment import running
    from mpu_cli.experiment.design import Design
    from mpu_cli.runtime.files import refuse_urls

    refuse_urls({"--out": out})
    design = Design(**of_design, seed=run.seed)
    if design.run_folds is not None and design.run_folds > design.folds:
        raise click.UsageError(f"--run-folds {design.run_folds} is more than --folds {design.folds}.")
    report = running.experiment(sources, out, design, formats=formats, reading=reading, run=run)
    if report.done:
        info(f"{out}: {report.done} of {counted(report.cells, 'cell')} done already")
    if report.figures is None:
        warn("no figures: matplotlib is not installed; install it with: pip install matplotlib")
    elif not report.figures:
        info("no figures: they need several missing rates, or several numbers of instances")
    else:
        info(f"{out}: figures {', '.join(path.name for path in report.figures)}")
    if report.c is not None:
        warn(
            f"before any are removed, an estimated {report.c:.0%} of the true labels are annotated in these data: "
            "metrics on them are too low; those corrected for it are next to them"
        )
    if report.failed == report.cells:
        why = next(row["error"] for row in report.rows if row["error"])
        raise MpuError(f"{out}: no cell of {report.cells} could be run; of the first: {why}")
    if report.failed:
        warn(f"{report.failed} of {counted(report.cells, 'cell')} failed; the summary says why")
    if not is_quiet():
        click.echo(report.summary, nl=False)
