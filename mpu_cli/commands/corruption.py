"""Remove annotated labels from a file by chance: training data with a known share of missing labels."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO

import numpy as np

from mpu_cli.errors import STANDARD_STREAM, InputError, MpuError
from mpu_cli.runtime.run import DEFAULT_RUN, Run
from mpu_cli.svmlight.grammar import DEFAULT_READING, Reading
from mpu_cli.svmlight.label_spans import LabelSpans, find_labels, without_labels
from mpu_cli.svmlight.reader import iter_stream, split_header
from mpu_cli.svmlight.streams import blocks, open_input, open_output

Draw = Callable[[np.ndarray], np.ndarray]
_Open = Callable[[], AbstractContextManager[BinaryIO]]

_DRAWN_AT_ONCE = 1 << 16
_HYPERGEOMETRIC_LIMIT = 10**9


@dataclass(frozen=True)
class Report:
    """What `corrupt` did.

    Attributes
    ----------
    instances, labels : int
        How many the file has, before.
    removed : int
        How many labels were removed.
    emptied : int
        How many instances had labels before and have none now.
    """

    instances: int
    labels: int
    removed: int
    emptied: int


def corrupt(
    source: str | Path,
    target: str | Path,
    missing_rate: float,
    *,
    scheme: str = "uniform",
    keep_one: bool = False,
    run: Run = DEFAULT_RUN,
    removed_to: str | Path | None = None,
    reading: Reading = DEFAULT_READING,
) -> Report:
    """Copy a file without a share of its labels; every other byte stays as it was.

    The file is read twice, in constant memory: once to check every line and to count, once to copy. What cannot be
    read twice (standard input, a pipe) is kept in a temporary file in between. The outcome depends on the content
    and the seed alone.

    Parameters
    ----------
    source, target : str or Path
        Files, compressed by suffix; ``-`` is standard input or output.
    missing_rate : float
        Share of labels to remove, from 0 to 1.
    scheme : {"uniform", "per-instance"}
        ``uniform`` removes exactly ``round(missing_rate * labels)`` (halves to even) of all labels, see `UniformDraw`;
        ``per-instance`` removes the share within each label set, see `PerInstanceDraw`.
    keep_one : bool
        Whether an instance with labels keeps at least one.
    run : Run
    removed_to : str or Path, optional
        Where to write what was removed: lines of instance number (from 1), tab, label.
    reading : Reading

    Raises
    ------
    InputError
        The file cannot be read, or a line breaks the grammar.
    MpuError
        So many labels cannot be removed with `keep_one`, or a file cannot be written.
    """
    with _read_twice(source) as (open_first, open_again):
        with open_first() as stream:
            counts = _count(stream, str(source), reading, run)
        if scheme == "uniform":
            draw: UniformDraw | PerInstanceDraw = UniformDraw(counts, missing_rate, keep_one, run.seed)
        else:
            draw = PerInstanceDraw(missing_rate, keep_one, run.seed)
        with (
            open_again() as stream,
            open_output(target) as out,
            nullcontext() if removed_to is None else open_output(removed_to) as removed_out,
        ):
            report = _copy(stream, str(source), out, removed_out, draw, reading)
            if (report.instances, report.labels) != (counts.instances, counts.labels):
                raise InputError(str(source), None, "changed while it was being read; try again")
    return report


@contextmanager
def _read_twice(source: str | Path) -> Iterator[tuple[_Open, _Open]]:
    """Give what opens a file for the first time, and what does so for the second."""
    if str(source) != STANDARD_STREAM and Path(source).is_file():
        yield lambda: open_input(source), lambda: open_input(source)
        return
    with TemporaryFile() as spool:

        @contextmanager
        def copied() -> Iterator[_CopyingStream]:
            with open_input(source) as stream:
                yield _CopyingStream(stream, spool)

        def rewound() -> AbstractContextManager[BinaryIO]:
            spool.seek(0)
            return nullcontext(spool)

        yield copied, rewound


class _CopyingStream:
    """A stream that writes what is read from it to a file, too."""

    def __init__(self, stream: BinaryIO, copy: BinaryIO) -> None:
        self._stream = stream
        self._copy = copy

    def read(self, n_bytes: int) -> bytes:
        data = self._stream.read(n_bytes)
        self._copy.write(data)
        return data


@dataclass(frozen=True)
class Counts:
    """Sizes of a file: instances, labels of all of them together, and instances that have labels."""

    instances: int
    labels: int
    labelled: int


def _count(stream: BinaryIO, source: str, reading: Reading, run: Run) -> Counts:
    instances = labels = labelled = 0
    for chunk in iter_stream(stream, source, reading, run=run):
        sizes = np.diff(chunk.labels.indptr)
        instances += len(sizes)
        labels += int(sizes.sum())
        labelled += int(np.count_nonzero(sizes))
    return Counts(instances, labels, labelled)


def _copy(
    stream: BinaryIO, source: str, out: BinaryIO, removed_out: BinaryIO | None, draw: Draw, reading: Reading
) -> Report:
    instances = labels = n_removed = emptied = 0
    for first_line, block in blocks(stream, source, reading.max_line_bytes):
        lines = block
        if first_line == 1 and not reading.implicit_values:
            _, lines = split_header(block)
        spans = find_labels(lines)
        removed = draw(spans.sizes)
        out.write(block[: len(block) - len(lines)])
        out.write(without_labels(lines, spans, removed))
        if removed_out is not None:
            removed_out.write(_removed_lines(lines, spans, removed, instances + 1))
        instances += len(spans.sizes)
        labels += len(removed)
        n_removed += int(np.count_nonzero(removed))
        left = np.bincount(_rows(spans.sizes)[~removed], minlength=len(spans.sizes))
        emptied += int(np.count_nonzero((spans.sizes > 0) & (left == 0)))
    return Report(instances, labels, n_removed, emptied)


def _rows(sizes: np.ndarray) -> np.ndarray:
    """Return the row of each label."""
    return np.repeat(np.arange(len(sizes)), sizes)


def _removed_lines(block: bytes, spans: LabelSpans, removed: np.ndarray, first_instance: int) -> bytes:
    instances = _rows(spans.sizes)[removed] + first_instance
    places = zip(instances.tolist(), spans.starts[removed].tolist(), spans.stops[removed].tolist(), strict=True)
    return b"".join([b"%d\t%s\n" % (instance, block[start:stop]) for instance, start, stop in places])


class UniformDraw:
    """Draw an exact number of labels uniformly from all labels of a file, told instance by instance.

    With `keep_one`, one label of each instance, drawn uniformly from its labels, is set aside first, and the draw is
    from the others. The labels of an instance are then equally likely to go, though not every admissible outcome is
    equally likely.

    Parameters
    ----------
    counts : Counts
        Sizes of the file.
    missing_rate : float
        ``round(missing_rate * counts.labels)`` labels are drawn, halves to even.
    keep_one : bool
        Whether an instance with labels keeps at least one.
    seed : int
        Seed of the random numbers.

    Raises
    ------
    MpuError
        There are not as many labels to draw from.
    """

    def __init__(self, counts: Counts, missing_rate: float, keep_one: bool, seed: int) -> None:
        n_removed = round(missing_rate * counts.labels)
        n_free = counts.labels - counts.labelled if keep_one else counts.labels
        if n_removed > n_free:
            highest = np.floor(n_free / counts.labels * 1e4) / 1e4
            raise MpuError(
                f"{n_removed} of {counts.labels} labels cannot be removed so that each of {counts.labelled} instances "
                f"keeps one; the highest missing rate possible is {highest:g}"
            )
        self._keep_one = keep_one
        subset_rng, self._rng = np.random.default_rng(seed).spawn(2)
        self._subset = _Subset(n_free, n_removed, subset_rng)

    def __call__(self, sizes: np.ndarray) -> np.ndarray:
        """Return which labels of the next instances are drawn.

        Parameters
        ----------
        sizes : int array, shape (n,)
            How many labels each has.

        Returns
        -------
        bool array, shape (sum of sizes,)
        """
        free = np.ones(sizes.sum(), bool)
        if self._keep_one:
            labelled = sizes > 0
            first = (np.cumsum(sizes) - sizes)[labelled]
            free[first + (self._rng.random(len(first)) * sizes[labelled]).astype(int)] = False
        drawn = np.zeros(len(free), bool)
        drawn[free] = self._subset.take(int(np.count_nonzero(free)))
        return drawn


class _Subset:
    """A subset of `size` out of `total` things in a row, every such subset equally likely, told piece by piece.

    How many of the next `_DRAWN_AT_ONCE` things belong to it is hypergeometric; which ones, uniform.
    """

    def __init__(self, total: int, size: int, rng: np.random.Generator) -> None:
        if max(size, total - size) >= _HYPERGEOMETRIC_LIMIT:
            raise MpuError(f"cannot draw from {total} labels (the limit is {_HYPERGEOMETRIC_LIMIT}); split the file")
        self._left = total
        self._size_left = size
        self._rng = rng
        self._ready = np.zeros(0, bool)

    def take(self, count: int) -> np.ndarray:
        """Return whether each of the next `count` things is in the subset."""
        pieces = [self._ready]
        missing = count - len(self._ready)
        while missing > 0:
            pieces.append(self._next_piece())
            missing -= len(pieces[-1])
        joined = np.concatenate(pieces)
        self._ready = joined[count:]
        return joined[:count]

    def _next_piece(self) -> np.ndarray:
        piece = np.zeros(_DRAWN_AT_ONCE, bool)
        here = min(_DRAWN_AT_ONCE, self._left)
        size = self._rng.hypergeometric(self._size_left, self._left - self._size_left, here)
        piece[self._rng.choice(here, size, replace=False, shuffle=False)] = True
        self._left -= here
        self._size_left -= size
        return piece


class PerInstanceDraw:
    """Draw a share of the labels within each instance.

    Of k labels, ``missing_rate * k`` are drawn, rounded up or down by chance so that the mean is exact; which ones is
    uniform. With `keep_one`, at most k - 1.

    Parameters
    ----------
    missing_rate : float
        Share of labels to draw, from 0 to 1.
    keep_one : bool
        Whether an instance with labels keeps at least one.
    seed : int
        Seed of the random numbers.
    """

    def __init__(self, missing_rate: float, keep_one: bool, seed: int) -> None:
        self._missing_rate = missing_rate
        self._keep_one = keep_one
        self._rounding_rng, self._order_rng = np.random.default_rng(seed).spawn(2)

    def __call__(self, sizes: np.ndarray) -> np.ndarray:
        """Return which labels of the next instances are drawn; arguments as for `UniformDraw`."""
        share = self._missing_rate * sizes
        n_drawn = np.floor(share) + (self._rounding_rng.random(len(sizes)) < share % 1)
        if self._keep_one:
            n_drawn = np.minimum(n_drawn, sizes - 1)
        rows = _rows(sizes)
        shuffled = np.lexsort((self._order_rng.random(len(rows)), rows))
        rank = np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        drawn = np.zeros(len(rows), bool)
        drawn[shuffled] = rank < n_drawn[rows]
        return drawn
