"""Write instances, label lists and score lists as lines of text; find, remove and insert labels in lines."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from mpu_cli.svmlight.dataset import Dataset
from mpu_cli.svmlight.grammar import MAX_ID, Reading, plain_labels
from mpu_cli.svmlight.header import Top
from mpu_cli.svmlight.streams import Readable, Writable, blocks

_ENDS_LABELS = {b"", b" ", b"\t", b"\r", b"\n"}
_ENDS_FIRST_TOKEN = np.zeros(256, bool)
_ENDS_FIRST_TOKEN[list(b" \t\r\n#:")] = True


@dataclass(frozen=True)
class LabelSpans:
    """The positions of the labels in a block of lines, in the order of the file."""

    # `starts`, `stops`: int array, shape (m,): label j is ``block[starts[j]:stops[j]]``
    starts: np.ndarray
    stops: np.ndarray
    # int array, shape (n,): number of labels of each instance. The labels of an instance are consecutive.
    sizes: np.ndarray
    lines: np.ndarray  # int array, shape (n,): where the line of each instance starts

    def numbers(self, block: bytes) -> np.ndarray:
        """Return the labels themselves: int array, shape (m,)."""
        pairs = zip(self.starts.tolist(), self.stops.tolist(), strict=True)
        return np.array([int(block[start:stop]) for start, stop in pairs], np.int64)

    def repeated(self, numbers: np.ndarray) -> np.ndarray:
        """Return which labels, of these numbers, their instance has already: bool, shape (m,)."""
        cells = np.repeat(np.arange(len(self.sizes)), self.sizes) * (MAX_ID + 1) + numbers
        order = np.argsort(cells, kind="stable")  # fast where labels ascend
        again = np.zeros(len(cells), bool)
        again[order[1:]] = np.diff(cells[order]) == 0
        return again


def labelled_lines(stream: Readable, source: str, reading: Reading) -> Iterator[tuple[bytes, bytes, LabelSpans]]:
    """Yield the lines of a file in blocks: the top of the file, or nothing; instances with plain labels; and these."""
    top = Top()
    for first_line, block in blocks(stream, source, reading.max_line_bytes):
        start = top.end_in(block, first_line)
        lines = plain_labels(block[start:])
        yield block[:start], lines, find_labels(lines)


def find_labels(block: bytes) -> LabelSpans:
    """Find the labels, which are `plain_labels`, in whole lines that follow the grammar, without the header."""
    characters = np.frombuffer(block + b"\n", np.uint8)
    lines = np.concatenate(([0], np.flatnonzero(characters[:-1] == ord("\n")) + 1))
    lines = lines[lines < len(block)]
    instances = lines[characters[lines] != ord("#")]
    ends = np.flatnonzero(_ENDS_FIRST_TOKEN[characters])
    stops = ends[np.searchsorted(ends, instances)]
    labelled = (stops > instances) & (characters[stops] != ord(":"))

    commas = np.flatnonzero(characters == ord(","))
    owner = np.searchsorted(instances, commas, side="right") - 1
    commas, owner = commas[owner >= 0], owner[owner >= 0]
    between_labels = labelled[owner] & (commas < stops[owner])  # the others are in comments
    commas, owner = commas[between_labels], owner[between_labels]
    return LabelSpans(
        starts=np.sort(np.concatenate((instances[labelled], commas + 1))),
        stops=np.sort(np.concatenate((stops[labelled], commas))),
        sizes=labelled + np.bincount(owner, minlength=len(instances)),
        lines=instances,
    )


def without_labels(block: bytes, spans: LabelSpans, removed: np.ndarray) -> bytes:
    """Return whole lines without the labels that a mask removes. Every other byte stays the same.

    One comma next to a removed label is removed too. If all labels of a line are removed and only a comment, or nothing
    at the end of the file, would be left, a space is inserted. Without it the line would no longer be an instance.
    """
    starts, stops, ends = spans.starts.tolist(), spans.stops.tolist(), np.cumsum(spans.sizes)
    kept = (~removed).tolist()
    pieces, done = [], 0
    for row in np.unique(np.searchsorted(ends, np.flatnonzero(removed), side="right")):
        of_row = range(ends[row] - spans.sizes[row], ends[row])
        left = b",".join([block[starts[j] : stops[j]] for j in of_row if kept[j]])
        pieces += [block[done : starts[of_row[0]]], left]
        done = stops[of_row[-1]]
        if not left and block[done : done + 1] in (b"", b"#"):
            pieces.append(b" ")
    return b"".join([*pieces, block[done:]])


def with_labels(block: bytes, spans: LabelSpans, rows: np.ndarray, labels: np.ndarray) -> bytes:
    """Return whole lines with labels appended to their label lists. Every other byte stays the same.

    Rows, ascending from 0, are the instances that get a label each.

    Examples
    --------
    >>> block = b"3 1:0.5\\n2:1\\n"
    >>> with_labels(block, find_labels(block), np.array([0, 1, 1]), np.array([7, 4, 5]))
    b'3,7 1:0.5\\n4,5 2:1\\n'
    """
    ends = np.cumsum(spans.sizes)
    pieces = []
    done = 0
    distinct, firsts = np.unique(rows, return_index=True)
    for row, of_row in zip(distinct.tolist(), np.split(labels, firsts)[1:], strict=True):
        new = b",".join(b"%d" % label for label in of_row.tolist())
        if spans.sizes[row]:
            place = int(spans.stops[ends[row] - 1])
            new = b"," + new
        else:
            place = int(spans.lines[row])
            new += b"" if block[place : place + 1] in _ENDS_LABELS else b" "
        pieces += [block[done:place], new]
        done = place
    return b"".join([*pieces, block[done:]])


_ROWS, _ENTRIES = 4096, 1 << 16


def write_instances(stream: Writable, dataset: Dataset) -> None:
    """Write instances as LIBSVM lines. Reading them gives the same numbers, bit for bit.

    The line of an instance without labels starts with a space.
    """
    for start in range(0, len(dataset), _ROWS):
        part = dataset[start : start + _ROWS]
        labels = _joined_rows(_decimals(part.labels.indices), part.labels.indptr, ",")
        features = _joined_rows(_pairs(part.features.indices, part.features.data), part.features.indptr, " ")
        stream.write(_lines([f"{of_row} {row}" for of_row, row in zip(labels, features, strict=True)]))


def label_lines(indptr: np.ndarray, ids: np.ndarray) -> bytes:
    """Return one line ``label,label,...`` per instance, with labels in the order of `ids`.

    Instance i has the labels ``ids[indptr[i]:indptr[i + 1]]``; possibly none, which gives an empty line.
    """
    return _lines(_joined_rows(_decimals(ids), indptr, ","))


def score_lines(indptr: np.ndarray, ids: np.ndarray, probabilities: np.ndarray) -> bytes:
    """Return one line ``label:probability label:probability ...`` per instance, as `label_lines` does.

    Probabilities are written with the fewest digits that give the same float32 when read.
    """
    return _lines(_joined_rows(_pairs(ids, probabilities), indptr, " "))


def label_and_score_lines(indptr: np.ndarray, ids: np.ndarray, probabilities: np.ndarray, chosen: np.ndarray) -> bytes:
    """Return one line ``label,... label:probability ...`` per instance: the chosen labels, then the scores of all.

    A line without chosen labels starts with a space. Others as for `score_lines`.
    """
    scores = _joined_rows(_pairs(ids, probabilities), indptr, " ")
    ends = np.concatenate([[0], np.cumsum(chosen)])[indptr]
    labels = _joined_rows(_decimals(ids[chosen]), ends, ",")
    return _lines([f"{listed} {row}" if row else "" for listed, row in zip(labels, scores, strict=True)])


def _lines(rows: list[str]) -> bytes:
    return "".join([f"{row}\n" for row in rows]).encode()


def _decimals(ids: np.ndarray) -> list[str]:
    return list(map(str, ids.tolist()))


def _pairs(ids: np.ndarray, values: np.ndarray) -> list[str]:
    pairs: list[str] = []
    for start in range(0, len(ids), _ENTRIES):  # NumPy's texts of numbers have 128 bytes each
        batch = slice(start, start + _ENTRIES)
        shortest = np.asarray(values[batch], np.float32).astype("U").tolist()
        numbers = ids[batch].tolist()
        pairs += [f"{number}:{value.removesuffix('.0')}" for number, value in zip(numbers, shortest, strict=True)]
    return pairs


def _joined_rows(tokens: list[str], indptr: np.ndarray, separator: str) -> list[str]:
    return [separator.join(tokens[start:stop]) for start, stop in pairwise(indptr.tolist())]
