"""``mpu experiment``."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mpu_cli.cli.common import reading_options
from mpu_cli.cli.experiment_options import Methods, MissingRates, Sizes
from mpu_cli.cli.messages import info, is_quiet, verbosity_options, warn
from mpu_cli.cli.options import click_type
from mpu_cli.cli.progress import Phase, clock, counting
from mpu_cli.cli.run_options import run_options
from mpu_cli.errors import MpuError, counted
from mpu_cli.runtime.options import Whole
from mpu_cli.svmlight.grammar import Reading

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

if TYPE_CHECKING:
    from mpu_cli.runtime.run import Run


def _choose_preset(ctx: click.Context, _param: click.Parameter, value: str | None) -> None:
    if value is not None:
        ctx.default_map = _PRESETS[value]


@click.command("experiment")
@click.argument("sources", metavar="FILE...", nargs=-1, required=True, type=click.Path(allow_dash=True))
@click.option(
    "--out",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for results.csv, summary.md and figures. An unfinished experiment in it is continued.",
)
@click.option(
    "--preset",
    type=click.Choice(list(_PRESETS)),
    is_eager=True,
    expose_value=False,
    callback=_choose_preset,
    help="Settings of the paper for options that are not set. paper-small: 6,000 instances, 10 folds, all methods, "
    "missing rates from 0 to 0.7. paper-large: all instances, one split (90 % training, 10 % test), methods that "
    "scale, missing rates 0, 0.3 and 0.6. paper-time: 4,000 instances, 8,000 and so on, fixed C and epochs, one cell "
    "at a time.",
)
@click.option(
    "--methods",
    type=Methods(),
    default="mpu,br",
    show_default=True,
    help="Methods of `mpu train`, or well (Sun et al. 2010), separated by commas. Options follow after colons: "
    "mpu:levels=1:c=auto.",
)
@click.option(
    "--missing-rates",
    type=MissingRates(),
    default="0,0.3,0.6",
    show_default=True,
    help="Shares of the training labels to remove. 0,0.1,...,0.7 means equal steps.",
)
@click.option("--folds", type=click_type(Whole(2)), default=10, show_default=True, help="Cross-validation folds.")
@click.option(
    "--run-folds",
    type=click_type(Whole(1)),
    help="Use only this many of the folds as test folds. 1 means a single split. Default: all.",
)
@click.option(
    "--instances",
    type=Sizes(),
    help="Draw this many instances at random. Several numbers: one experiment each. 1000,2000,... doubles the number "
    "up to the size of the data. Default: all instances.",
)
@click.option(
    "--tuned",
    is_flag=True,
    help="Also measure each method with a threshold chosen by the same criterion for all: the highest micro-F1, as "
    "estimated for complete labels, on a held-out fifth of the training instances.",
)
@click.option(
    "--format",
    "formats",
    type=click.Choice(["png", "svg", "pdf"]),
    multiple=True,
    default=("png", "svg"),
    show_default=True,
    help="Format of the figures; may be given several times.",
)
@run_options("seed", "jobs", "kernel")
@reading_options
@verbosity_options
def experiment(
    sources: tuple[str, ...],
    out: Path,
    methods: tuple,
    missing_rates: tuple[float, ...],
    folds: int,
    run_folds: int | None,
    instances: tuple | None,
    tuned: bool,
    formats: tuple[str, ...],
    run: "Run",
    reading: Reading,
) -> None:
    """Compare methods by cross-validation. Labels are removed from the training folds only.

    The instances of all FILEs are pooled. Every method learns from the same instances with the same incomplete labels,
    and is tested on complete labels.

    One training with its test is a cell. Each cell runs in its own process with one thread; -j sets how many run at the
    same time. A cell that fails is recorded; remove its line from results.csv to have it run again. Results are saved
    after each cell. So if the command is interrupted, run it again to continue. If all cells are done, it only writes
    the summary and figures again.

    \b
    Example:
      mpu experiment news.svm --methods mpu,mpu:levels=1,br --missing-rates 0,0.1,...,0.7 --out news-results
      mpu experiment --preset paper-small train.svm test.svm --out small
      mpu experiment --preset paper-time news.svm --methods mpu,m3l-linear --out time
    """
    from mpu_cli.experiment import running
    from mpu_cli.experiment.design import Grid
    from mpu_cli.runtime.files import refuse_urls

    refuse_urls({"--out": out})
    if run_folds is not None and run_folds > folds:
        raise click.UsageError(f"--run-folds {run_folds} is more than --folds {folds}.")
    report = running.experiment(
        sources,
        out,
        Grid(
            methods=methods,
            missing_rates=missing_rates,
            folds=folds,
            run_folds=run_folds,
            instances=instances,
            tuned=tuned,
        ),
        formats=formats,
        reading=reading,
        run=run,
        observe=partial(_cell_progress, out),
    )
    if report.figures is None:
        warn("no figures: matplotlib is not installed; install it with: pip install matplotlib")
    elif report.figures:
        info(f"{out}: figures {', '.join(path.name for path in report.figures)}")
    if report.c is not None:
        warn(
            f"about {report.c:.0%} of the true labels are annotated in these data, before any are removed: metrics on "
            "them are too low; those corrected for it are next to them"
        )
    if report.failed == report.cells:
        why = next(row.error for row in report.rows if row.error)
        raise MpuError(f"{out}: no cell of {report.cells} could be run; of the first: {why}")
    if report.failed:
        warn(f"{report.failed} of {counted(report.cells, 'cell')} failed; the summary says why")
    if not is_quiet():
        click.echo(report.summary, nl=False)


def _cell_progress(out: Path, done: int, sizes: list[int]) -> AbstractContextManager[Callable[[int], object]]:
    """Show the progress of the cells, and the time left, assumed proportional to the number of instances.

    Parameters
    ----------
    out : Path
    done, sizes
        As for `CellObserver`.
    """
    if done:
        info(f"{out}: {done} of {counted(done + len(sizes), 'cell')} done already")

    def say(phase: Phase) -> None:
        seconds = round(phase.seconds_left() or 0)
        so_far, left = clock(phase.seconds()), clock(seconds)
        info(
            f"{phase.ticks} of {len(sizes)} cells in {so_far}, about {left} left",
            cells=phase.ticks,
            seconds_left=seconds,
        )

    phase = counting(f"training and testing {counted(len(sizes), 'cell')}", sum(sizes), say=say)
    return phase if sizes else nullcontext(lambda _: None)
