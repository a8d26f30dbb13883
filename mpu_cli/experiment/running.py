"""Running an experiment: unfinished cells in processes, and a report of all cells."""

import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import cache
from importlib.util import find_spec
from itertools import takewhile
from pathlib import Path

import joblib
import numpy as np
from joblib.externals.loky.process_executor import TerminatedWorkerError

from mpu_cli.core.features import Columns
from mpu_cli.core.sample import estimate_out_of_fold
from mpu_cli.errors import BusyError, MpuError, one_line
from mpu_cli.experiment import cell, results
from mpu_cli.experiment.design import Cell, Design
from mpu_cli.experiment.results import Row, cell_of
from mpu_cli.experiment.summary import markdown
from mpu_cli.runtime import signals
from mpu_cli.runtime.files import holder, try_lock
from mpu_cli.runtime.parallel import threads
from mpu_cli.runtime.run import DEFAULT_RUN, Run
from mpu_cli.runtime.steps import Step
from mpu_cli.svmlight.dataset import Dataset, GrowingCsr
from mpu_cli.svmlight.grammar import DEFAULT_READING, Reading
from mpu_cli.svmlight.reader import read
from mpu_cli.svmlight.streams import stem
from mpu_cli.version import __version__

# An estimate of the label frequency from here on is compatible with complete labels.
_COMPLETE = 0.95
RESULTS, SETTINGS, SUMMARY, LOCK = "results.csv", "settings.json", "summary.md", ".lock"


def read_pooled(sources: Sequence[str], reading: Reading, run: Run) -> Dataset:
    """Read files as one set of instances. The labels that occur are renumbered from 0, and few features too.

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
    return Dataset(occurring, Columns.occurring(pooled.features).narrowed(pooled.features))


def incompleteness(data: Dataset, run: Run) -> float | None:
    """Return the label frequency of data whose labels are clearly incomplete; None if they may be complete.

    It is estimated as by `mpu train`. None too if the estimate is unreliable, or its interval reaches 0.95.
    """
    with run.step(Step.ESTIMATE_C) as tick:
        estimated = estimate_out_of_fold(data.features, data.labels, run, tick=tick)
    assert estimated.interval is not None  # of this method
    return estimated.c if estimated.predictable and estimated.interval[1] < _COMPLETE else None


def dataset_name(sources: Sequence[str]) -> str:
    """Return the common first words of the file names: news-train.svm and news-test.svm give news."""
    names = [one_line(stem(source)) for source in sources]
    words = takewhile(lambda same: len(set(same)) == 1, zip(*(name.split("-") for name in names), strict=False))
    return "-".join(word for word, *_ in words) or names[0]


@dataclass(frozen=True)
class ExperimentReport:
    """The result of an experiment."""

    rows: list[Row]  # the results of all cells, in the order of the design
    # `cells`, `done`, `failed`: numbers of cells, of those that earlier runs have finished, and of failed ones
    cells: int
    done: int
    failed: int
    summary: str  # content of the file ``summary.md``
    figures: list[Path] | None  # the files of the figures; None without matplotlib
    c: float | None = None  # label frequency of the data, if their labels are clearly incomplete before any are removed


def experiment(
    sources: Sequence[str],
    folder: Path,
    design: Design,
    *,
    formats: Sequence[str] = ("png", "svg"),
    reading: Reading = DEFAULT_READING,
    run: Run = DEFAULT_RUN,
) -> ExperimentReport:
    """Compare methods by cross-validation on files, pooled.

    `folder`: for results, summary and figures; created if missing. An unfinished experiment there is continued.
    `formats`: formats of the figures: png, svg, pdf.
    `run`: its threads are the number of cells that run at a time.
    Raises InputError (a file cannot be read), BusyError (another experiment runs in the folder), MpuError (there are
    too few instances, or the folder has results of another experiment or cannot be written to, or a process was
    killed).
    """
    with alone(folder):
        with run.step(Step.READ):
            data = read_pooled(sources, reading, run)
        design, dataset = design.on(len(data)), dataset_name(sources)
        settings = asdict(design) | {"dataset": dataset, "data": joblib.hash(data), "version": __version__}
        settings |= {"kernel": "numba" if run.compiled else "numpy"}
        results.keep_settings(folder / SETTINGS, settings)
        cells = design.cells()
        rows = results.finished(folder / RESULTS, cells)
        done = {cell_of(row) for row in rows}
        left = [cell for cell in cells if cell not in done]
        c = incompleteness(data, run)
        with run.step(Step.CELLS, len(left)) as tick:
            for new in _run_cells(left, design, data, dataset, run, c):
                rows.append(new)
                results.write_rows(folder / RESULTS, rows)
                tick()
        place = {cell: i for i, cell in enumerate(cells)}
        rows.sort(key=lambda row: place[cell_of(row)])
        summary = markdown(rows, c, design.folds)
        results.write(folder / SUMMARY, summary.encode())
        figures = None
        if find_spec("matplotlib") is not None:
            from mpu_cli.experiment import plots

            figures = plots.draw(rows, folder, formats)
    failed = sum(bool(row["error"]) for row in rows)
    return ExperimentReport(rows, len(cells), len(done), failed, summary, figures, c)


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


def _run_cells(
    cells: Sequence[Cell], design: Design, data: Dataset, dataset: str, how: Run, c: float | None
) -> Iterator[Row]:
    """Run cells, as many at a time as the run has threads, and yield the row of each.

    With several at a time, each has a process, to which joblib maps the data into memory.
    """
    jobs = min(threads(how.jobs), max(len(cells), 1))
    parallel = joblib.Parallel(jobs, return_as="generator_unordered", pre_dispatch=jobs)
    main = os.getpid()
    # After an interruption its own tracker says that it has cleaned up.
    quiet = "ignore::UserWarning:joblib.externals.loky.backend.resource_tracker"
    os.environ["PYTHONWARNINGS"] = ",".join(filter(None, [os.environ.get("PYTHONWARNINGS"), quiet]))
    try:
        yield from parallel(joblib.delayed(_run_cell)(main, one, design, data, dataset, how.kernel, c) for one in cells)
    except TerminatedWorkerError:
        raise MpuError(
            "a process that ran a cell was killed, perhaps for lack of memory: run the command again, with a smaller "
            "-j, to go on"
        ) from None


def _run_cell(main: int, *arguments: object) -> Row:
    if os.getpid() != main:
        _end_with(main)
    return cell.run(*arguments)  # type: ignore[arg-type]


@cache
def _end_with(main: int) -> None:
    """End this process soon after the main one ends, for whatever reason."""

    def watch() -> None:
        while os.getppid() == main:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
