"""Remove random labels from a file, for training data with a known share of missing labels."""

from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mpu_cli.commands.data.removal import Counts, Draw, PerInstanceDraw, UniformDraw, rows_of
from mpu_cli.errors import InputError
from mpu_cli.runtime.run import DEFAULT_RUN, Run
from mpu_cli.svmlight.content import Counted
from mpu_cli.svmlight.grammar import DEFAULT_READING, Reading
from mpu_cli.svmlight.label_spans import LabelSpans, find_labels, without_labels
from mpu_cli.svmlight.reader import iter_stream, split_header
from mpu_cli.svmlight.streams import Readable, Writable, blocks, open_output, read_twice


@dataclass(frozen=True, kw_only=True)
class Report:
    """The result of `corrupt`.

    Attributes
    ----------
    instances, labels : int
        Numbers of instances and labels of the file, before the removal.
    removed : int
        Number of removed labels.
    emptied : int
        Number of instances that have lost all their labels.
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
    """Copy a file without a share of its labels. Every other byte stays the same.

    The file is read twice, in constant memory: once to check every line and to count, once to copy. Input that cannot
    be read twice (standard input, a pipe) is stored in a temporary file in between. The result depends only on the
    content and the seed.

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
        File for the removed labels: lines of instance number (from 1), tab, label.
    reading : Reading

    Raises
    ------
    InputError
        The file cannot be read, or a line breaks the grammar.
    MpuError
        This many labels cannot be removed with `keep_one`, or a file cannot be written.
    """
    with read_twice(source) as (open_first, open_again):
        with open_first() as stream:
            first = Counted(stream)
            counts = _count(first, str(source), reading, run)
        if scheme == "uniform":
            draw: Draw = UniformDraw(counts, missing_rate, keep_one, run.seed)
        else:
            draw = PerInstanceDraw(missing_rate, keep_one, run.seed)
        with (
            open_again() as stream,
            open_output(target) as out,
            nullcontext() if removed_to is None else open_output(removed_to) as removed_out,
        ):
            again = Counted(stream)
            report = _copy(again, str(source), out, removed_out, draw, reading)
            if first.content() != again.content():
                raise InputError(str(source), None, "changed while it was being read; try again")
    return report


def _count(stream: Readable, source: str, reading: Reading, run: Run) -> Counts:
    instances = labels = labelled = 0
    for chunk in iter_stream(stream, source, reading, run=run):
        sizes = np.diff(chunk.labels.indptr)
        instances += len(sizes)
        labels += int(sizes.sum())
        labelled += int(np.count_nonzero(sizes))
    return Counts(instances, labels, labelled)


def _copy(
    stream: Readable, source: str, out: Writable, removed_out: Writable | None, draw: Draw, reading: Reading
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
        left = np.bincount(rows_of(spans.sizes)[~removed], minlength=len(spans.sizes))
        emptied += int(np.count_nonzero((spans.sizes > 0) & (left == 0)))
    return Report(instances=instances, labels=labels, removed=n_removed, emptied=emptied)


def _removed_lines(block: bytes, spans: LabelSpans, removed: np.ndarray, first_instance: int) -> bytes:
    instances = rows_of(spans.sizes)[removed] + first_instance
    places = zip(instances.tolist(), spans.starts[removed].tolist(), spans.stops[removed].tolist(), strict=True)
    return b"".join([b"%d\t%s\n" % (instance, block[start:stop]) for instance, start, stop in places])
