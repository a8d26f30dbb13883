"""Write instances, label lists and score lists as lines of text; find and replace the labels of lines."""

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from mpu_cli.errors import changed
from mpu_cli.svmlight.grammar import header_of, plain_labels
from mpu_cli.svmlight.reader import Dataset, Preamble
from mpu_cli.svmlight.streams import Measure, Measured, Readable, Writable, blocks

# The labels of each instance in whole lines, possibly none; comment lines do not match.
_LABELS = re.compile(rb"^(?!#|\Z)((?:[0-9,]+(?=[ \t\r\n#]|\Z))?)", re.MULTILINE)
_LINE_END = re.compile(rb"[ \t]*\r?(?:\n|\Z)")
_ENDS_LABELS = {b"", b" ", b"\t", b"\r", b"\n"}


class LabelledLines(NamedTuple):
    """Some lines of a file: instances, which can be written with other labels."""

    top: bytes  # the text before the first instance
    is_start: bool  # whether the first line is read as a header if it looks like one
    texts: list[dict[int, bytes]]  # the labels of each instance in file order, each once, with its text
    rests: list[bytes]  # what follows the labels of each instance, up to the next one
    labels: np.ndarray  # int64, shape (a,): the labels of all instances, one after another
    sizes: np.ndarray  # int, shape (n,): how many of them each instance has

    def chosen(self, is_chosen: np.ndarray) -> list[list[bytes]]:
        """Return the texts of some labels by instance; `is_chosen`: bool, shape (a,)."""
        each = iter(is_chosen.tolist())
        return [[text for text in labels.values() if next(each)] for labels in self.texts]

    def written(self, labels: Iterable[Iterable[bytes]]) -> bytes:
        """Return the lines with other labels for each instance. Every other byte stays the same.

        However, a space is inserted if the line would otherwise no longer be an instance, or begin with a comment, and
        a first instance that has become a header, such as ``1 3 5`` with implicit values, is written ``1 3 5:1``.
        """
        pieces = []
        for new, old, rest in zip(labels, self.texts, self.rests, strict=True):
            text, after = b",".join(new), rest[:1]
            joins = after not in _ENDS_LABELS if text else after in (b"", b"#")
            pieces += [text, b" " * (joins and bool(text) != bool(old)), rest]
        lines = b"".join(pieces)
        if self.is_start and header_of(lines.partition(b"\n")[0]) is not None:
            lines = _LINE_END.sub(rb":1\g<0>", lines, count=1)
        return self.top + lines


def labelled_lines(stream: Readable, source: str, measure: Measure | None) -> Iterator[LabelledLines]:
    """Yield a file's lines in blocks; InputError if its content is not that with which it was read before."""
    preamble, again = Preamble(), Measured(stream)
    for first_line, block in blocks(again, source):
        is_start = not preamble.has_ended
        start = preamble.end_in(block, first_line)
        before, *parts = _LABELS.split(plain_labels(block[start:]))
        try:
            texts = [{int(text): text for text in of_one.split(b",") if of_one} for of_one in parts[::2]]
            labels = np.array([label for of_one in texts for label in of_one], np.int64)
        except (ValueError, OverflowError):
            raise changed(source) from None
        is_start &= preamble.header is None
        sizes = np.array(list(map(len, texts)), int)
        yield LabelledLines(block[:start] + before, is_start, texts, parts[1::2], labels, sizes)
    if again.measure() != measure:
        raise changed(source)


_ROWS, _ENTRIES = 4096, 1 << 16


def write_instances(stream: Writable, dataset: Dataset) -> None:
    """Write instances as LIBSVM lines. Reading them returns the same numbers, bit for bit.

    The line of an instance without labels starts with a space.
    """
    for start in range(0, len(dataset), _ROWS):
        part = dataset[start : start + _ROWS]
        labels = _joined_rows(map(str, part.labels.indices.tolist()), part.labels.indptr, ",")
        features = _joined_rows(_pairs(part.features.indices, part.features.data), part.features.indptr, " ")
        stream.write(_lines([f"{of_row} {row}" for of_row, row in zip(labels, features, strict=True)]))


def label_lines(indptr: np.ndarray, ids: np.ndarray) -> bytes:
    """Return one line ``label,label,...`` per instance, with labels in the order of `ids`.

    Instance i has the labels ``ids[indptr[i]:indptr[i + 1]]``; possibly none, which results in an empty line.
    """
    return _lines(_joined_rows(map(str, ids.tolist()), indptr, ","))


def score_lines(
    indptr: np.ndarray, ids: np.ndarray, probabilities: np.ndarray, chosen: np.ndarray | None = None
) -> bytes:
    """Return one line ``label:probability label:probability ...`` per instance, like `label_lines`.

    Probabilities are written with the fewest digits that yield the same float32 when read.

    `chosen`: bool: labels that are also written before the scores of their instances, ``label,... label:probability
    ...``. A line without them, but with scores, starts with a space.
    """
    rows = _joined_rows(_pairs(ids, probabilities), indptr, " ")
    if chosen is not None:
        ends = np.concatenate([[0], np.cumsum(chosen)])[indptr]
        labels = _joined_rows(map(str, ids[chosen].tolist()), ends, ",")
        rows = [f"{listed} {row}" if row else "" for listed, row in zip(labels, rows, strict=True)]
    return _lines(rows)


def _lines(rows: list[str]) -> bytes:
    return "".join([f"{row}\n" for row in rows]).encode()


def _pairs(ids: np.ndarray, values: np.ndarray) -> list[str]:
    pairs: list[str] = []
    for start in range(0, len(ids), _ENTRIES):  # NumPy's number strings take 128 bytes each
        batch = slice(start, start + _ENTRIES)
        shortest = np.asarray(values[batch], np.float32).astype("U").tolist()
        numbers = ids[batch].tolist()
        pairs += [f"{number}:{value.removesuffix('.0')}" for number, value in zip(numbers, shortest, strict=True)]
    return pairs


def _joined_rows(tokens: Iterable[str], indptr: np.ndarray, separator: str) -> list[str]:
    tokens = list(tokens)
    return [separator.join(tokens[start:stop]) for start, stop in pairwise(indptr.tolist())]
