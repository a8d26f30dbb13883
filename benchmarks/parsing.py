"""How fast `mpu` parses a file, beside scikit-learn's loader."""

import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from statistics import median

import click
from sklearn.datasets import load_svmlight_file

from benchmarks.report import MEGABYTE
from mpu_cli.runtime.run import KERNELS, Run
from mpu_cli.svmlight.reader import read

PEER = "scikit-learn load_svmlight_file"


def readers(data: Path, threads: int) -> Iterator[tuple[str, Callable[[], object]]]:
    """Give each way to read a file, and its name."""
    yield PEER, lambda: load_svmlight_file(str(data), multilabel=True)
    for kernel in KERNELS:
        for jobs in sorted({1, threads}):

            def read_all(kernel: str = kernel, jobs: int = jobs) -> object:
                return read(data, run=Run(jobs=jobs, kernel=kernel))

            yield f"mpu {kernel}, --jobs {jobs}", read_all


def rates(data: Path, threads: int, rounds: int) -> dict[str, float]:
    """Time all readers in turn, round after round.

    Parameters
    ----------
    data : Path
        A LIBSVM file.
    threads : int
        Threads that parse, apart from one; the thread that reads the file comes on top.
    rounds : int
        A first one, which compiles and brings the file into memory, is not counted.

    Returns
    -------
    dict
        Bytes of text a second by the reader's name: the median of the rounds.
    """
    seconds: dict[str, list[float]] = {}
    for counted in (False, *[True] * rounds):
        for name, read_all in readers(data, threads):
            start = time.perf_counter()
            read_all()
            if counted:
                seconds.setdefault(name, []).append(time.perf_counter() - start)
    return {name: data.stat().st_size / median(taken) for name, taken in seconds.items()}


def table(measured: Mapping[str, float]) -> str:
    """Make a Markdown table of `rates`."""
    lines = ["| reader | MB/s | of scikit-learn's |", "|---|---:|---:|"]
    for name, rate in measured.items():
        lines.append(f"| {name} | {rate / MEGABYTE:,.0f} | {rate / measured[PEER]:.1f} |")
    return "\n".join(lines) + "\n"


@click.command(context_settings={"help_option_names": ["-h", "--help"], "show_default": True})
@click.argument("data", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--threads", type=click.IntRange(min=1), default=2)
@click.option("--rounds", type=click.IntRange(min=1), default=5)
def main(data: Path, threads: int, rounds: int) -> None:
    """Read DATA with every reader in turn, and print a Markdown table of the medians.

    \b
    Example:
      python -m benchmarks.parsing rcv1-train.svm
    """
    click.echo(table(rates(data, threads, rounds)), nl=False)


if __name__ == "__main__":
    main()
