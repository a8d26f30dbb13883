"""What share of the machine's limits the kernels of `mpu` reach.

A kernel's time is at least its bytes over the memory bandwidth and its operations over the arithmetic rate.
"""

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import click
import numpy as np

from benchmarks import limits, work
from benchmarks.limits import Machine
from benchmarks.work import Work
from mpu_cli.core.features import Features
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.sgd import LearningTask, Settings, Split
from mpu_cli.core.validation import train_splits
from mpu_cli.runtime.run import KERNELS, Run
from mpu_cli.svmlight.reader import read

T = TypeVar("T")

GIGA = 10**9
_EPOCHS = 3
_PREDICTED_TOGETHER = 4096  # instances


@dataclass(frozen=True)
class Timing:
    """What a kernel did, in how many seconds, with how many threads."""

    kernel: str
    work: Work
    seconds: float
    threads: int


def shares(counted: Work, seconds: float, machine: Machine) -> dict[str, float]:
    """Tell what a kernel reaches.

    Parameters
    ----------
    counted : Work
    seconds : float
        Time that it took.
    machine : Machine
        Measured with as many threads.

    Returns
    -------
    dict
        ``memory``, the compulsory bytes as a share of the memory bandwidth; ``traffic``, all loads and stores as a
        share of the bandwidth of cached data; ``arithmetic``, the operations as a share of the arithmetic rate.
    """
    return {
        "memory": counted.memory / seconds / machine.bandwidth,
        "traffic": counted.traffic / seconds / machine.cached,
        "arithmetic": counted.operations / seconds / machine.arithmetic,
    }


def time_kernels(path: Path, run: Run) -> list[Timing]:
    """Run each kernel on a file.

    Parameters
    ----------
    path : Path
        A LIBSVM file; C = 300 and c = 1.
    run : Run

    Returns
    -------
    list of Timing
        Reading, one epoch of PU-SGD, and predicting all instances.
    """
    read(path, run=run)  # compiles, and brings the file into memory
    data, parse_seconds = _timed(lambda: read(path, run=run))
    features = Features.of(data.features)
    n, D, nnz, q = len(data), data.features.shape[1], data.features.nnz, data.labels.shape[1]

    c = LabelFrequency.of(1.0, data.labels.shape)
    task = LearningTask(features, data.labels, c, Settings(cost=300, epochs=1), run)
    longer = replace(task, settings=Settings(cost=300, epochs=1 + _EPOCHS))
    every = (np.arange(n),)
    train_splits([Split(task, every)])  # compiles
    (model, _), one = _timed(lambda: train_splits([Split(task, every)]))
    _, more = _timed(lambda: train_splits([Split(longer, every)]))

    starts = range(0, n, _PREDICTED_TOGETHER)
    _, predict_seconds = _timed(
        lambda: [model.probabilities(features[s : s + _PREDICTED_TOGETHER], run) for s in starts]
    )
    n_blocks = len(task.blocks())
    return [
        Timing("parse", work.parsing(path.stat().st_size, n, nnz), parse_seconds, run.jobs),
        Timing("epoch", work.epoch(n, D, nnz, q), (more - one) / _EPOCHS, min(run.jobs, n_blocks)),
        Timing("predict", work.prediction(n, D, nnz, q), predict_seconds, 1),
    ]


def _timed(action: Callable[[], T]) -> tuple[T, float]:
    start = time.perf_counter()
    result = action()
    return result, time.perf_counter() - start


def limits_table(machines: Iterable[Machine]) -> str:
    """Make a Markdown table of the machine's limits."""
    rows = [
        f"| {m.threads} | {m.bandwidth / GIGA:.1f} | {m.cached / GIGA:.1f} | {m.arithmetic / GIGA:.0f} |\n"
        for m in machines
    ]
    return "| threads | memory, GB/s | in cache, GB/s | float32, Gop/s |\n|---:|---:|---:|---:|\n" + "".join(rows)


def kernel_table(timings: Sequence[Timing], machines: Mapping[int, Machine]) -> str:
    """Make a Markdown table of what kernels did and what share of the machine's limits that is.

    Parameters
    ----------
    timings : sequence of Timing
    machines : mapping of int to Machine
        The limits by number of threads.
    """
    header = [
        "kernel",
        "threads",
        "s",
        "GB, compulsory",
        "of memory's",
        "GB, all",
        "of the cache's",
        "Gop",
        "of arithmetic's",
    ]
    lines = [f"| {' | '.join(header)} |", "|---" + "|---:" * (len(header) - 1) + "|"]
    for timing in timings:
        counted, share = timing.work, shares(timing.work, timing.seconds, machines[timing.threads])
        lines.append(
            f"| {timing.kernel} | {timing.threads} | {timing.seconds:.3f} "
            f"| {counted.memory / GIGA:.2f} | {share['memory']:.1%} "
            f"| {counted.traffic / GIGA:.1f} | {share['traffic']:.1%} "
            f"| {counted.operations / GIGA:.1f} | {share['arithmetic']:.1%} |"
        )
    return "\n".join(lines) + "\n"


@click.command(context_settings={"help_option_names": ["-h", "--help"], "show_default": True})
@click.argument("data", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--threads", type=click.IntRange(min=1), default=os.cpu_count, show_default="all")
@click.option("--kernel", type=click.Choice(KERNELS), help="Default: numba where it is installed.")
def main(data: Path, threads: int, kernel: str | None) -> None:
    """Measure the machine with one thread and with THREADS, run the kernels on DATA, and print two Markdown tables.

    \b
    Example:
      python -m benchmarks.roofline rcv1-train.svm --kernel numpy
    """
    timings = time_kernels(data, Run(jobs=threads, kernel=kernel))
    machines = {n: limits.measure(n) for n in sorted({1, threads, *(timing.threads for timing in timings)})}
    click.echo(limits_table(machines.values()))
    click.echo(kernel_table(timings, machines), nl=False)


if __name__ == "__main__":
    main()
