"""Compare methods by cross-validation: ``mpu experiment``."""

from pathlib import Path
from typing import Any

import click

from mpu_cli.cli.messages import info, is_quiet, warn
from mpu_cli.errors import MpuError, counted
from mpu_cli.experiment import running
from mpu_cli.experiment.design import Design
from mpu_cli.runtime.files import refuse_urls
from mpu_cli.runtime.run import Run
from mpu_cli.svmlight.grammar import Reading


def command(
    sources: tuple[str, ...], out: Path, formats: tuple[str, ...], run: Run, reading: Reading, **of_design: Any
) -> None:
    """Carry out the command, with what `mpu_cli.cli.commands` has read."""
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
            "metrics on them are too low; corrected metrics are shown next to them"
        )
    if report.failed == report.cells:
        why = next(row["error"] for row in report.rows if row["error"])
        raise MpuError(f"{out}: no cell of {report.cells} could be run; of the first: {why}")
    if report.failed:
        warn(f"{report.failed} of {counted(report.cells, 'cell')} failed; the summary says why")
    if not is_quiet():
        click.echo(report.summary, nl=False)
