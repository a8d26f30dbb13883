"""Compare methods by cross-validation: ``mpu experiment``. Unfinished cells run in processes."""

import os
import threading
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from functools import cache
from importlib.util import find_spec
from itertools import takewhile
from pathlib import Path

import click
import joblib
from joblib.externals.loky.process_executor import TerminatedWorkerError

from mpu_cli import __version__
from mpu_cli.cli.messages import info, is_quiet, warn
from mpu_cli.cli.options import refuse_overlaps
from mpu_cli.core.features import Columns
from mpu_cli.core.options import LINEAR, FrequencyOptions
from mpu_cli.core.problem import Problem
from mpu_cli.errors import MpuError, counted, one_line
from mpu_cli.experiment.cells import TABLES, Cell, Design, Row, cell_of, finished, markdown, run_cell, save, write
from mpu_cli.experiment.methods import code_of
from mpu_cli.people.posteriors import Scored
from mpu_cli.runtime.files import locked_directory
from mpu_cli.runtime.run import Run
from mpu_cli.svmlight.grammar import Reading
from mpu_cli.svmlight.reader import Dataset, read
from mpu_cli.svmlight.streams import as_one, stem

# An estimated label frequency of at least this is compatible with complete labels.
_COMPLETE = 0.95


def command(
    sources: tuple[str, ...],
    out: Path,
    methods: tuple[str, ...],
    missing_rates: tuple[float, ...],
    folds: int,
    run_folds: int | None,
    instances: tuple[int, ...] | None,
    format: tuple[str, ...],
    run: Run,
    reading: Reading,
) -> None:
    """Run or continue an experiment, with as many cells at a time as the run has threads; failed cells run again."""
    refuse_overlaps({"FILE": sources}, {"--out": out} | {f"{name} in --out": out / name for name in TABLES})
    if run_folds is not None and run_folds > folds:
        raise click.UsageError(f"--run-folds {run_folds} is more than --folds {folds}.")
    with ExitStack() as stack:
        try:
            stack.enter_context(locked_directory(out, "wait for it, or give another --out"))
        except OSError as error:
            raise MpuError(f"{out}: cannot be written: {error.strerror}; give another --out") from error
        with run.step("reading data"):
            data = read_pooled(sources, reading, run)
        sizes, dataset = sorted(instances or (len(data),)), dataset_name(sources)
        if sizes[-1] > len(data):
            there = counted(len(data), "instance")
            raise MpuError(f"the files have {there}, not {sizes[-1]:,}; give fewer --instances")
        if sizes[0] < folds:
            fewer = f"--folds {sizes[0]}, or " * (sizes[0] > 1)
            raise MpuError(
                f"{folds} folds need at least {folds} instances, not {sizes[0]}; give {fewer}"
                f"{'larger --instances' if sizes[0] < len(data) else 'more data'}"
            )
        design = Design(methods, tuple(sorted(missing_rates)), tuple(sizes), folds, run_folds or folds, run.seed)
        settings = asdict(design) | {"dataset": dataset, "data": joblib.hash(data), "version": __version__}
        settings |= {"kernel": "numba" if run.compiled else "numpy", "code": {name: code_of(name) for name in methods}}
        cells = design.cells()
        rows = {cell_of(row): row for row in finished(out, settings)}
        if rows:
            info(f"{out}: {len(rows)} of {counted(len(cells), 'training run')} already done")
        scored = Scored(Problem(data.features, data.labels), FrequencyOptions(features=LINEAR), run)
        found = scored.estimates().estimate
        c = found.c if found and found.predictable and found.interval[1] < _COMPLETE else None
        left = [cell for cell in cells if cell not in rows]
        with run.step("training and testing", len(left)) as tick:
            for row in _run_cells(left, design, data, dataset, run, c):
                rows[cell_of(row)] = row
                save(out, settings, rows.values())
                tick()
        in_order = [rows[cell] for cell in cells]
        save(out, settings, in_order)
        summary = markdown(in_order, c, folds)
        write(out / "summary.md", summary.encode())
        if find_spec("matplotlib") is None:
            warn("no figures: matplotlib is not installed; install it with: pip install matplotlib")
        else:
            from mpu_cli.experiment import plots

            if figures := plots.draw(in_order, out, format):
                info(f"{out}: figures {', '.join(path.name for path in figures)}")
            else:
                info("no figures: they need several missing rates, or several numbers of instances")
    if c is not None:
        warn(
            f"before any are removed, an estimated {c:.0%} of the true labels are annotated in these data: "
            "metrics on them are too low; corrected metrics are shown next to them"
        )
    errors = [row["error"] for row in in_order if row["error"]]
    if len(errors) == len(cells):
        raise MpuError(f"{out}: all {len(cells)} training runs failed; the first with: {errors[0]}")
    if not is_quiet():
        click.echo(summary, nl=False)
    if errors:
        failed = f"{len(errors)} of {counted(len(cells), 'training run')} failed"
        raise MpuError(f"{out}: {failed}; {out / 'summary.md'} gives the reasons, and the same command runs them again")


def read_pooled(sources: Sequence[str], reading: Reading, run: Run) -> Dataset:
    """Read files as one set of instances. Occurring labels are renumbered from 0, and features too if few occur.

    Raises InputError (a file cannot be read, or a line breaks the grammar), MpuError (no instance has a label).
    """
    pooled = read(as_one(sources), reading, run)
    occurring, ids = pooled.occurring_labels()
    if not len(ids):
        raise MpuError(f"{', '.join(sources)}: no instance has a label, so there is nothing to learn")
    return Dataset(occurring, Columns.occurring(pooled.features).narrowed(pooled.features))


def dataset_name(sources: Sequence[str]) -> str:
    """Return the common first words of the file names: news-train.svm and news-test.svm give news."""
    names = [one_line(stem(source)) for source in sources]
    words = takewhile(lambda same: len(set(same)) == 1, zip(*(name.split("-") for name in names), strict=False))
    return "-".join(word for word, *_ in words) or names[0]


def _run_cells(
    cells: Sequence[Cell], design: Design, data: Dataset, dataset: str, how: Run, c: float | None
) -> Iterator[Row]:
    """Run cells, as many at a time as the run has threads, and yield the row of each.

    With several at a time, each runs in its own process, for which joblib memory-maps the data.
    """
    jobs = min(how.threads, max(len(cells), 1))
    parallel = joblib.Parallel(jobs, return_as="generator_unordered", pre_dispatch=jobs)
    main = os.getpid()
    # After an interruption or on a full disk, joblib reports unused cells, and its tracker that it has cleaned up.
    warnings.filterwarnings("ignore", module="joblib.parallel")
    quiet = "ignore::UserWarning:joblib.externals.loky.backend.resource_tracker"
    os.environ["PYTHONWARNINGS"] = ",".join(filter(None, [os.environ.get("PYTHONWARNINGS"), quiet]))
    try:
        yield from parallel(joblib.delayed(_run_cell)(main, one, design, data, dataset, how.kernel, c) for one in cells)
    except TerminatedWorkerError:
        raise MpuError(
            "a training process was killed, perhaps for lack of memory: to continue, run the command again with a "
            "smaller -j"
        ) from None


def _run_cell(main: int, *arguments: object) -> Row:
    if os.getpid() != main:
        _end_with(main)
    return run_cell(*arguments)  # type: ignore[arg-type]


@cache
def _end_with(main: int) -> None:
    """End this process soon after the main one ends, for whatever reason."""

    def watch() -> None:
        while os.getppid() == main:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
