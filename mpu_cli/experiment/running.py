"""Run the cells of an experiment that are not done yet, each in a process of its own, and report on all of them."""

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import joblib

from mpu_cli import __version__
from mpu_cli.errors import BusyError
from mpu_cli.experiment import cell, processes, results
from mpu_cli.experiment.design import Cell, Design
from mpu_cli.experiment.results import Row
from mpu_cli.experiment.summary import markdown
from mpu_cli.runtime import signals
from mpu_cli.runtime.lock import holder, try_lock
from mpu_cli.runtime.run import Run
from mpu_cli.runtime.threads import threads
from mpu_cli.svmlight.dataset import Dataset
from mpu_cli.svmlight.streams import open_output

RESULTS, SETTINGS, SUMMARY, LOCK = "results.csv", "settings.json", "summary.md", ".lock"


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Make the folder of an experiment, and keep other processes from writing there in the ``with`` block.

    Raises
    ------
    BusyError
        Another process does.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / LOCK
    lock = try_lock(path)
    if lock is None:
        raise BusyError(f"{folder}: {holder(path)} runs an experiment there: wait for it, or give another --out")
    try:
        with signals.finally_call(lambda: path.unlink(missing_ok=True)):
            yield
    finally:
        os.close(lock)


def resume(design: Design, data: Dataset, dataset: str, folder: Path, how: Run) -> tuple[list[Row], list[Cell]]:
    """Tell what is done and what is left of an experiment.

    Parameters
    ----------
    design : Design
    data : Dataset
    dataset : str
        What results call the data.
    folder : Path
        Has the results, or will have them.

    Returns
    -------
    rows : list of Row
        What the finished cells gave, in the order of the design.
    left : list of Cell

    Raises
    ------
    MpuError
        The folder has results of another experiment.
    """
    settings = {
        "dataset": dataset,
        "data": joblib.hash(data),
        "methods": [method.label for method in design.methods],
        "missing_rates": list(design.missing_rates),
        "instances": list(design.sizes),
        "folds": design.folds,
        "run_folds": design.run_folds,
        "tuned": design.tuned,
        "seed": design.seed,
        "kernel": "numba" if how.compiled else "numpy",
        "version": __version__,
    }
    results.keep_settings(folder / SETTINGS, settings)
    cells = design.cells()
    rows = in_order(results.resume(folder / RESULTS, cells, design.rules), design)
    done = {row.cell for row in rows}
    return rows, [cell for cell in cells if cell not in done]


def in_order(rows: Sequence[Row], design: Design) -> list[Row]:
    """Sort rows as the cells of the design."""
    place = {cell: i for i, cell in enumerate(design.cells())}
    return sorted(rows, key=lambda row: place[row.cell])


def run(
    cells: Sequence[Cell], design: Design, data: Dataset, dataset: str, folder: Path, how: Run
) -> Iterator[list[Row]]:
    """Run cells, as many at a time as the run has threads; give the rows of each when they are on disk."""
    methods = {method.label: method for method in design.methods}
    scratch = tempfile.TemporaryDirectory(prefix="mpu-experiment-")
    with signals.finally_call(scratch.cleanup):
        shared = Path(scratch.name) / "data"
        joblib.dump(data, shared)
        tasks = [cell.Task(c, methods[c.method], design, dataset, shared, how.kernel) for c in cells]
        for task, outcome in processes.run(cell.run, tasks, threads(how.jobs)):
            rows = outcome
            if isinstance(outcome, processes.Failure):
                rows = [Row.of(task.cell, dataset, rule, error=outcome.message) for rule in design.rules]
            results.append(folder / RESULTS, rows)
            yield rows


def write_report(rows: Sequence[Row], folder: Path) -> tuple[str, bool]:
    """Write the summary and, where matplotlib is installed, the figures.

    Returns
    -------
    summary : str
    drawn : bool
        Whether there are figures.
    """
    summary = markdown(rows)
    with open_output(folder / SUMMARY) as stream:
        stream.write(summary.encode())
    drawn = find_spec("matplotlib") is not None
    if drawn:
        from mpu_cli.experiment import figures

        figures.draw(rows, folder)
    return summary, drawn
