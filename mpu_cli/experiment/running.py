"""Running an experiment: unfinished cells, each in its own process, and a report of all cells."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import takewhile
from pathlib import Path

import joblib
import numpy as np

from mpu_cli.core.features import Features
from mpu_cli.core.frequency.estimators import estimate
from mpu_cli.core.options import Validation
from mpu_cli.core.problem import Rows
from mpu_cli.core.sample import Sample
from mpu_cli.errors import BusyError, MpuError
from mpu_cli.experiment import cell, processes, results
from mpu_cli.experiment.design import Cell, Design, Grid
from mpu_cli.experiment.results import Row
from mpu_cli.experiment.summary import markdown
from mpu_cli.runtime import signals
from mpu_cli.runtime.files import holder, try_lock
from mpu_cli.runtime.parallel import threads
from mpu_cli.runtime.run import DEFAULT_RUN, Run
from mpu_cli.runtime.steps import Step
from mpu_cli.svmlight.dataset import Dataset, GrowingCsr
from mpu_cli.svmlight.grammar import DEFAULT_READING, Reading
from mpu_cli.svmlight.reader import read
from mpu_cli.svmlight.streams import open_output, stem
from mpu_cli.version import __version__

# An estimate of the label frequency from here on is compatible with complete labels.
_COMPLETE = 0.95


def read_pooled(sources: Sequence[str], reading: Reading, run: Run) -> Dataset:
    """Read files as one set of instances. The labels that occur are renumbered from 0.

    Raises InputError (a file cannot be read, or a line breaks the grammar), MpuError (no instance has a label).
    """
    labels, features = GrowingCsr(bool), GrowingCsr(np.float32)
    for source in sources:
        part = read(source, reading, run)
        labels.append(part.labels)
        features.append(part.features)
    pooled = Dataset(labels.finish(), features.finish())
    occurring, ids = pooled.occurring_labels()
    if not len(ids):
        raise MpuError(f"{', '.join(sources)}: no instance has a label, so there is nothing to learn")
    return Dataset(occurring, pooled.features)


def incompleteness(data: Dataset, run: Run) -> float | None:
    """Return the label frequency of data whose labels are clearly incomplete; None if they may be complete.

    It is estimated as by `mpu train`. None too if the estimate is unreliable, or its interval reaches 0.95.
    """
    sample = Sample(Rows(Features.of(data.features), data.labels), Validation.sample, Validation.folds, run)
    with run.step(Step.ESTIMATE_C, sample.m) as tick:
        estimated = estimate(sample.naive_probabilities(tick), sample.labels, folds=sample.fold_of_instances)
    assert estimated.interval is not None  # of this method
    return estimated.c if estimated.predictable and estimated.interval[1] < _COMPLETE else None


def dataset_name(sources: Sequence[str]) -> str:
    """Return the common first words of the file names: news-train.svm and news-test.svm give news."""
    names = [stem(source) for source in sources]
    words = takewhile(lambda same: len(set(same)) == 1, zip(*(name.split("-") for name in names), strict=False))
    return "-".join(word for word, *_ in words) or names[0]


RESULTS, SETTINGS, SUMMARY = "results.csv", "settings.json", "summary.md"
LOCK, DATA = ".lock", ".data"  # while an experiment runs


@dataclass(frozen=True)
class ExperimentReport:
    """The result of an experiment."""

    rows: list[Row]  # the results of all cells, in the order of the design
    # `cells`, `failed`: number of cells, and of failed cells
    cells: int
    failed: int
    summary: str  # content of the file ``summary.md``
    figures: list[Path] | None  # the files of the figures; None without matplotlib
    c: float | None = None  # label frequency of the data, if their labels are clearly incomplete before any are removed


# Called with the number of finished cells of earlier runs, and the numbers of instances of the cells that are left.
# Returns a context for running these; its value is a function to call with the instances of each finished cell.
CellObserver = Callable[[int, list[int]], AbstractContextManager[Callable[[int], object]]]


def no_cell_observer(_done: int, _left: list[int]) -> AbstractContextManager[Callable[[int], object]]:
    """Show nothing."""
    return nullcontext(lambda _instances: None)


def experiment(
    sources: Sequence[str],
    folder: Path,
    grid: Grid,
    *,
    formats: Sequence[str] = ("png", "svg"),
    reading: Reading = DEFAULT_READING,
    run: Run = DEFAULT_RUN,
    observe: CellObserver = no_cell_observer,
) -> ExperimentReport:
    """Compare methods by cross-validation on files, pooled.

    `folder`: for results, summary and figures; created if missing. An unfinished experiment there is continued.
    `formats`: formats of the figures: png, svg, pdf.
    `run`: its threads are the number of cells that run at a time.
    Raises InputError (a file cannot be read), BusyError (another experiment runs in the folder), MpuError (there are
    too few instances, or the folder has results of another experiment or cannot be written to).
    """
    with alone(folder):
        with run.step(Step.READ):
            data = read_pooled(sources, reading, run)
        design = grid.design(len(data), run.seed)
        name, cells = dataset_name(sources), design.cells()
        rows, left = resume(design, data, name, folder, run)
        c = incompleteness(data, run)
        with observe(len(cells) - len(left), [cell.instances for cell in left]) as tick:
            for new in run_cells(left, design, data, name, folder, run, c):
                rows += new
                tick(new[0].instances)
        rows = in_order(rows, design)
        summary, figures = write_report(rows, folder, c, formats)
    return ExperimentReport(rows, len(cells), len({row.cell for row in rows if row.error}), summary, figures, c)


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Create the folder of an experiment, and lock it for the ``with`` block. If it stays empty, it is removed.

    Raises BusyError (another process has locked it), MpuError (it cannot be created or written to).
    """
    made = [place for place in (folder, *folder.parents) if not place.exists()]
    path = folder / LOCK
    lock = None

    def clear() -> None:
        if lock is not None:
            path.unlink(missing_ok=True)
            (folder / DATA).unlink(missing_ok=True)
            os.close(lock)
        for place in made:
            with suppress(OSError):  # there is something in it
                place.rmdir()

    with signals.finally_call(clear):
        try:
            with signals.unbroken():
                folder.mkdir(parents=True, exist_ok=True)
                lock = try_lock(path)
        except OSError as error:
            raise MpuError(f"{folder}: cannot be written: {error.strerror}; give another --out") from error
        if lock is None:
            raise BusyError(f"{folder}: {holder(path)} runs an experiment there: wait for it, or give another --out")
        yield


def resume(design: Design, data: Dataset, dataset: str, folder: Path, how: Run) -> tuple[list[Row], list[Cell]]:
    """Return the rows of finished cells, and the cells that are left.

    `dataset`: name of the data in the results.
    `folder`: folder of the results.
    Returns: `rows`: the results of finished cells, in the order of the design.
    Raises MpuError (the folder has the results of another experiment).
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
    """Sort rows in the order of the design."""
    place = {cell: i for i, cell in enumerate(design.cells())}
    return sorted(rows, key=lambda row: place[row.cell])


def run_cells(
    cells: Sequence[Cell], design: Design, data: Dataset, dataset: str, folder: Path, how: Run, c: float | None = None
) -> Iterator[list[Row]]:
    """Run cells, as many at a time as the run has threads. Yield the rows of each cell when they are on disk."""
    methods = {method.label: method for method in design.methods}
    shared = folder / DATA
    if cells:
        with open_output(shared) as stream:
            joblib.dump(data, stream)
    tasks = [cell.Task(one, methods[one.method], design, dataset, shared, how.kernel, c) for one in cells]
    for task, outcome in processes.run(cell.run, tasks, threads(how.jobs)):
        rows = outcome
        if isinstance(outcome, processes.Failure):
            rows = [Row.of(task.cell, dataset, rule, error=outcome.message) for rule in design.rules]
        results.append(folder / RESULTS, rows)
        yield rows


def write_report(
    rows: Sequence[Row], folder: Path, c: float | None = None, formats: Sequence[str] = ("png", "svg")
) -> tuple[str, list[Path] | None]:
    """Write the summary, and the figures if matplotlib is installed.

    Returns: `figures`: the files of the figures; None without matplotlib.
    """
    summary = markdown(rows, c)
    with open_output(folder / SUMMARY) as stream:
        stream.write(summary.encode())
    if find_spec("matplotlib") is None:
        return summary, None
    from mpu_cli.experiment import plots

    return summary, plots.draw(rows, folder, formats)
