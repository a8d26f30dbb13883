"""Remove random labels, for training data with a known share of missing labels.

From a file, at one rate, they are drawn instance by instance in constant memory; otherwise, all labels are in memory.

Other schemes are ways in which labels go missing: functions of the features X, shape (n, D); the true labels Y, shape
(n, q), bool, a csr_array with sorted columns; the share that is to be kept; and a generator. Each returns the chance of
each entry of Y to be annotated: float64, in the order of its rows, or one number.
"""

import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.data.features import only_entries
from mpu_cli.errors import InputError, MpuError
from mpu_cli.inputs.side_tables import frequency_lines
from mpu_cli.runtime.run import DEFAULT_RUN, Run
from mpu_cli.svmlight.dataset import Dataset
from mpu_cli.svmlight.grammar import DEFAULT_READING, Reading
from mpu_cli.svmlight.header import Top
from mpu_cli.svmlight.reader import gathered, iter_stream
from mpu_cli.svmlight.streams import Counted, Readable, Writable, blocks, open_output, read_twice
from mpu_cli.svmlight.writer import LabelSpans, find_labels, without_labels

# From the labels of the next instances, and how many each has, to whether each of these labels is drawn.
Draw = Callable[[np.ndarray, np.ndarray], np.ndarray]

_DRAWN_AT_ONCE = 1 << 16
_HYPERGEOMETRIC_LIMIT = 10**9


@dataclass(frozen=True)
class Counts:
    """Numbers of instances, of labels in total, and of instances with labels in a file."""

    instances: int
    labels: int
    labelled: int


def rows_of(sizes: np.ndarray) -> np.ndarray:
    """Return the row of each label."""
    return np.repeat(np.arange(len(sizes)), sizes)


class UniformDraw:
    """Draw an exact number of labels uniformly from all labels of a file, instance by instance.

    They are ``round(missing_rate * counts.labels)``, halves to even; MpuError where there are not as many to draw from.
    With `keep_one`, one random label of each instance is kept, and the labels are drawn from the others. The labels of
    an instance are then equally likely to be removed, although not all admissible outcomes are equally likely.
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
        """Return which labels of the next instances, with these sizes, are drawn: bool, shape (sum of sizes,)."""
        free = np.ones(sizes.sum(), bool)
        if self._keep_one:
            labelled = sizes > 0
            first = (np.cumsum(sizes) - sizes)[labelled]
            free[first + (self._rng.random(len(first)) * sizes[labelled]).astype(int)] = False
        drawn = np.zeros(len(free), bool)
        drawn[free] = self._subset.take(int(np.count_nonzero(free)))
        return drawn


class _Subset:
    """A random subset of `size` out of `total` things, every such subset equally likely, drawn piece by piece.

    The number of the next `_DRAWN_AT_ONCE` things in it is hypergeometric; which ones they are is uniform.
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
        rows = rows_of(sizes)
        shuffled = np.lexsort((self._order_rng.random(len(rows)), rows))
        rank = np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        drawn = np.zeros(len(rows), bool)
        drawn[shuffled] = rank < n_drawn[rows]
        return drawn


def remove_labels(labels: csr_array, missing_rate: float, seed: tuple[int, ...]) -> csr_array:
    """Remove ``round(missing_rate * labels)`` of all labels (halves to even), every such subset equally likely.

    With the same seed, labels removed at one rate are also removed at a higher one. So a curve over rates does not vary
    by the draw. (`UniformDraw`, which never has all labels in memory, cannot do this.) Labels are csr_array of bool,
    shape (n, q), before and after.
    """
    order = np.random.default_rng(seed).permutation(labels.nnz)
    keep = np.ones(labels.nnz, bool)
    keep[order[: round(missing_rate * labels.nnz)]] = False
    return only_entries(labels, keep)


class ListedDraw:
    """Draw labels that were chosen before, when all of them were in memory.

    `drawn` is a bool array with each label of the file, instance by instance, ascending within an instance.
    """

    def __init__(self, drawn: np.ndarray) -> None:
        self._left = drawn

    def __call__(self, labels: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Return which labels of the next instances are drawn: bool array, shape (sum of sizes,)."""
        here, self._left = self._left[: len(labels)], self._left[len(labels) :]
        drawn = np.zeros(len(labels), bool)
        drawn[np.lexsort((labels, rows_of(sizes)))[: len(here)]] = here  # fewer than labels if the file has changed
        return drawn


@dataclass(frozen=True, kw_only=True)
class CorruptionReport:
    """The result of `corrupt`."""

    # `instances`, `labels`, `removed`: Numbers of instances and labels of the file, before the removal, and of removed
    # labels.
    instances: int
    labels: int
    removed: int
    emptied: int  # Number of instances that have lost all their labels.
    c_of_labels: dict[int, float]  # Share of the instances of each label that have kept it.

    def frequencies(self) -> bytes:
        """Return these shares, but those that are 0, as `inputs.side_tables` reads them."""
        kept = {label: c for label, c in self.c_of_labels.items() if c}
        return frequency_lines(np.array(list(kept), int), np.array(list(kept.values())))


@dataclass(frozen=True, kw_only=True)
class Lists:
    """Files that `corrupt` writes beside its output; None: not."""

    removed: str | Path | None = None  # the removed labels: lines of instance number (from 1), tab, label
    kept: str | Path | None = None  # the share of each label that was kept, as `inputs.side_tables` reads it


def corrupt(
    source: str | Path,
    target: str | Path,
    missing_rate: float,
    *,
    scheme: str = "uniform",
    keep_one: bool = False,
    run: Run = DEFAULT_RUN,
    lists: Lists = Lists(),
    reading: Reading = DEFAULT_READING,
) -> CorruptionReport:
    """Copy a file without a share of its labels. Every other byte stays the same.

    The file is read twice, once to check every line and to count, once to copy: in constant memory, if the scheme is
    uniform or per-instance. Input that cannot be read twice (standard input, a pipe) is stored in a temporary file in
    between. The result depends only on the content and the seed.

    `source`, `target`: files, compressed by suffix; ``-`` is standard input or output.
    `missing_rate`: from 0 to 1.
    `scheme`: ``uniform`` removes exactly ``round(missing_rate * labels)`` (halves to even) of all labels, see
    `UniformDraw`; ``per-instance`` removes the share within each label set, see `PerInstanceDraw`. Or one of `SCHEMES`.
    `keep_one`: whether an instance with labels keeps at least one.
    Raises InputError (the file cannot be read, or a line breaks the grammar), MpuError (this many labels cannot be
    removed with `keep_one`, or a file cannot be written).
    """
    with read_twice(source) as (open_first, open_again):
        with open_first() as stream:
            first = Counted(stream)
            draw = _draw(first, str(source), missing_rate, scheme, keep_one, reading, run)
        with open_again() as stream, ExitStack() as beside, open_output(target, beside) as out:
            again = Counted(stream)
            removed_out = None if lists.removed is None else beside.enter_context(open_output(lists.removed))
            report = _copy(again, str(source), out, removed_out, draw, reading)
            if first.content() != again.content():
                raise _changed(str(source))
            if lists.kept is not None:
                beside.enter_context(open_output(lists.kept)).write(report.frequencies())
    return report


def _changed(source: str) -> InputError:
    return InputError(source, None, "changed while it was being read; try again")


def _draw(
    stream: Readable, source: str, missing_rate: float, scheme: str, keep_one: bool, reading: Reading, run: Run
) -> Draw:
    chunks = iter_stream(stream, source, reading, run=run)
    if scheme == "uniform":
        uniform = UniformDraw(_count(chunks), missing_rate, keep_one, run.seed)
        return lambda _, sizes: uniform(sizes)
    if scheme == "per-instance":
        _count(chunks)
        within = PerInstanceDraw(missing_rate, keep_one, run.seed)
        return lambda _, sizes: within(sizes)
    data = gathered(chunks, 0)
    return ListedDraw(lost(scheme, data.features, data.occurring_labels()[0], 1 - missing_rate, run.seed, keep_one))


def _count(chunks: Iterator[Dataset]) -> Counts:
    instances = labels = labelled = 0
    for chunk in chunks:
        sizes = np.diff(chunk.labels.indptr)
        instances += len(sizes)
        labels += int(sizes.sum())
        labelled += int(np.count_nonzero(sizes))
    return Counts(instances, labels, labelled)


def _copy(
    stream: Readable, source: str, out: Writable, removed_out: Writable | None, draw: Draw, reading: Reading
) -> CorruptionReport:
    instances = emptied = 0
    before: Counter[int] = Counter()
    after: Counter[int] = Counter()
    top = Top()
    for first_line, block in blocks(stream, source, reading.max_line_bytes):
        start = top.end_in(block, first_line)
        lines = block[start:]
        spans = find_labels(lines)
        try:
            labels = spans.numbers(lines)
        except (ValueError, OverflowError):
            raise _changed(source) from None
        removed = draw(labels, spans.sizes)
        out.write(block[:start])
        out.write(without_labels(lines, spans, removed))
        if removed_out is not None:
            removed_out.write(_removed_lines(lines, spans, removed, instances + 1))
        instances += len(spans.sizes)
        before.update(labels.tolist())
        after.update(labels[~removed].tolist())
        left = np.bincount(rows_of(spans.sizes)[~removed], minlength=len(spans.sizes))
        emptied += int(np.count_nonzero((spans.sizes > 0) & (left == 0)))
    return CorruptionReport(
        instances=instances,
        labels=before.total(),
        removed=before.total() - after.total(),
        emptied=emptied,
        c_of_labels={label: after[label] / before[label] for label in sorted(before)},
    )


def _removed_lines(block: bytes, spans: LabelSpans, removed: np.ndarray, first_instance: int) -> bytes:
    instances = rows_of(spans.sizes)[removed] + first_instance
    places = zip(instances.tolist(), spans.starts[removed].tolist(), spans.stops[removed].tolist(), strict=True)
    return b"".join([b"%d\t%s\n" % (instance, block[start:stop]) for instance, start, stop in places])


# Fewer instances, and a classifier cannot say which of them are typical of a label.
_FEWEST = 3
# How far the rates of labels, and of instances, are from their mean, by the distance of that from 0 or 1.
_SPREAD, _SPREAD_OF_INSTANCES = 0.8, 0.6


def uniform(X: csr_array, Y: csr_array, kept: float, rng: np.random.Generator) -> float:
    """Give every true label the same chance."""
    return kept


def label(X: csr_array, Y: csr_array, kept: float, rng: np.random.Generator) -> np.ndarray:
    """Give each label a rate of its own: uniform about `kept`."""
    width = min(kept, 1 - kept) * _SPREAD
    return rng.uniform(kept - width, kept + width, Y.shape[1])[Y.indices]


def rare(X: csr_array, Y: csr_array, kept: float, rng: np.random.Generator) -> np.ndarray:
    """Miss rare labels more: the rate rises with the logarithm of a label's frequency, from 0.4 to 1.5 times `kept`."""
    size = np.log(np.maximum(np.bincount(Y.indices, minlength=Y.shape[1]), 1))
    place = (size - size.min()) / max(np.ptp(size), 1e-9)
    return (kept * (0.4 + 1.1 * place)).clip(max=1)[Y.indices]


def single(X: csr_array, Y: csr_array, kept: float, rng: np.random.Generator) -> np.ndarray:
    """Keep one label of each instance, drawn at random; `kept` is not used."""
    lottery = rng.random(Y.nnz)
    return (lottery == _largest_of_row(Y, lottery)).astype(float)


def instance(X: csr_array, Y: csr_array, kept: float, rng: np.random.Generator) -> np.ndarray:
    """Annotate half of the instances well and half badly: about 0.5, they keep 80 % and 20 % of their labels."""
    width = min(kept, 1 - kept) * _SPREAD_OF_INSTANCES
    return np.repeat(rng.choice([kept - width, kept + width], Y.shape[0]), np.diff(Y.indptr))


def hard(X: csr_array, Y: csr_array, kept: float, rng: np.random.Generator) -> np.ndarray:
    """Miss the less typical more: the rate rises with the rank of an instance among those that have the label.

    The rank is by the score of a logistic regression of the label, which is fitted for it.
    """
    from sklearn.exceptions import ConvergenceWarning  # which other ways need not wait for
    from sklearn.linear_model import LogisticRegression

    chance = np.full(Y.nnz, kept)
    width = min(kept, 1 - kept) * _SPREAD
    places = csr_array((np.arange(Y.nnz), Y.indices, Y.indptr), shape=Y.shape).tocsc()
    for start, stop in zip(places.indptr, places.indptr[1:], strict=False):
        rows, size = places.indices[start:stop], stop - start
        if not _FEWEST <= size < Y.shape[0]:
            continue
        true = np.bincount(rows, minlength=Y.shape[0])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # ranks no longer change then
            scores = LogisticRegression(C=1, max_iter=200).fit(X, true).decision_function(X[rows])
        rank = np.argsort(np.argsort(scores)) / (size - 1)
        chance[places.data[start:stop]] = kept + width * (2 * rank - 1)
    return chance


Scheme = Callable[[csr_array, csr_array, float, np.random.Generator], np.ndarray | float]
SCHEMES: dict[str, Scheme] = {way.__name__: way for way in (uniform, label, rare, single, hard, instance)}


def lost(scheme: str, X: csr_array, Y: csr_array, kept: float, seed: int, keep_one: bool = False) -> np.ndarray:
    """Draw the labels that go missing.

    `scheme`: one of `SCHEMES`, which have the other arguments.
    `keep_one`: whether an instance with labels keeps at least one: the one that was nearest to it.
    Returns: bool array, shape (Y.nnz,): for each entry of Y, in the order of its rows.
    """
    if not Y.nnz:
        return np.zeros(0, bool)
    rng = np.random.default_rng(seed)
    margin = SCHEMES[scheme](X, Y, kept, rng) - rng.random(Y.nnz)
    missing = margin <= 0
    return missing & (margin < _largest_of_row(Y, margin)) if keep_one else missing


def annotated(scheme: str, X: csr_array, Y: csr_array, kept: float, seed: int) -> csr_array:
    """Return the true labels without those that `lost` draws: csr_array of bool, shape (n, q)."""
    return only_entries(Y, ~lost(scheme, X, Y, kept, seed))


def _largest_of_row(Y: csr_array, values: np.ndarray) -> np.ndarray:
    """Return, for each entry of Y, the largest value of its row."""
    sizes = np.diff(Y.indptr)
    has = sizes > 0
    return np.repeat(np.maximum.reduceat(values, Y.indptr[:-1][has]), sizes[has])
