"""The block parser in NumPy: a regular expression looks at all lines of a block, and NumPy reads all numbers together.

`Rows` is the result of both kernels: flat arrays, and the instances made from them.
"""

import re
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.svmlight.dataset import Dataset
from mpu_cli.svmlight.grammar import FLOAT32_OVERFLOW, MAX_ID

EXACT_DIGITS = 19  # this many digits fit into 64 bits

# Possessive, so that a line that breaks the grammar takes linear time.
_ID = rb"[0-9]{1,19}+"
_VALUE = rb"[-+]?+(?:[0-9]++\.?+[0-9]*+|\.[0-9]++)(?:[eE][-+]?+[0-9]++)?+"
_LABELS = rb"(?:%(id)b(?:,%(id)b)*+(?=[ \n]))?+" % {b"id": _ID}
_FEATURE = rb"%b:%b" % (_ID, _VALUE)


def _lines(feature: bytes) -> re.Pattern[bytes]:
    """Return the pattern of lines: labels and features, with blanks between them, or a feature at once."""
    begins = rb"(?:%b|%b(?=[ \n]))" % (_FEATURE, _LABELS)
    return re.compile(rb"(?:%b(?: ++(?:%b(?=[ \n])|(?=\n)))*+\n)*+" % (begins, feature))


# By whether an index without a colon means the value 1.
_LINES = {False: _lines(_FEATURE), True: _lines(rb"%b(?::%b)?+" % (_ID, _VALUE))}
_WITHOUT_VALUE = re.compile(rb" ([0-9]++)(?![0-9:])")


class UnusualError(Exception):
    """The block has an error or a rare form. `grammar` has to parse it line by line."""


class Rows(NamedTuple):
    """The instances of a block, in the order of the file.

    `labels`: int32 array, shape (a,): the labels of all instances, one after another.
    `label_ends`: int array, shape (n,): the labels of instance i end before ``labels[label_ends[i]]``.
    `indices`: int32 array, shape (m,): the feature indices of all instances.
    `index_ends`: int array, shape (n,): the indices of instance i end before ``indices[index_ends[i]]``.
    `values`: float32 array, shape (m,): the value of each index.
    """

    labels: np.ndarray
    label_ends: np.ndarray
    indices: np.ndarray
    index_ends: np.ndarray
    values: np.ndarray

    def dataset(self) -> Dataset:
        """Return the instances, each label and index once.

        Raise `UnusualError` if an index has two values in one of them, or label 0 or 1 is there twice: labels may be
        a vector of 0 and 1.
        """
        return Dataset(
            _csr(np.ones(len(self.labels), bool), self.labels, self.label_ends),
            _csr(self.values, self.indices, self.index_ends),
        )


def _csr(data: np.ndarray, columns: np.ndarray, row_ends: np.ndarray) -> csr_array:
    inside = np.ones(len(columns), bool)  # whether the column before is in the same row
    inside[row_ends[row_ends < len(columns)]] = False
    if not _increasing(columns, inside):
        rows = np.repeat(np.arange(len(row_ends)), np.diff(row_ends, prepend=0))
        order = np.lexsort((columns, rows))
        data, columns = data[order], columns[order]
        again = np.flatnonzero((columns[1:] == columns[:-1]) & inside[1:]) + 1
        if np.any(data[again] != data[again - 1]) or (data.dtype == bool and np.any(columns[again] <= 1)):
            raise UnusualError
        data, columns = np.delete(data, again), np.delete(columns, again)
        row_ends = row_ends - np.searchsorted(again, row_ends)
    indptr = np.concatenate(([0], row_ends)).astype(np.int32)
    shape = (len(row_ends), int(columns.max()) + 1 if len(columns) else 0)
    return csr_array((data, columns, indptr), shape=shape)


def _increasing(columns: np.ndarray, inside: np.ndarray) -> bool:
    return bool(np.all((columns[1:] > columns[:-1]) | ~inside[1:]))


def parse(block: bytes, implicit_values: bool) -> Rows:
    """Parse whole lines of a file without its header; the last one may lack its end.

    With `implicit_values`, an index without a colon means the value 1. UnusualError where a line breaks the grammar, or
    follows it in a rare form.
    """
    text = _plain(block)
    if not _LINES[implicit_values].fullmatch(text):
        raise UnusualError
    heads, tails = [], []
    for line in text.split(b"\n")[:-1]:
        head, blank, tail = line.partition(b" ")
        heads.append(b"" if b":" in head else head)
        tails.append(b" " + line if b":" in head else blank + tail)
    if implicit_values:
        tails = [_WITHOUT_VALUE.sub(rb" \1:1", tail) for tail in tails]
    labels = _numbers(b",".join(filter(None, heads)), ",")
    features = _numbers(b"".join(tails).replace(b":", b" "), " ")
    indices, values = features[::2], features[1::2]
    if max(labels.max(initial=0), indices.max(initial=0)) > MAX_ID or np.any(np.abs(values) >= FLOAT32_OVERFLOW):
        raise UnusualError
    return Rows(
        labels.astype(np.int32),
        np.cumsum([head.count(b",") + 1 if head else 0 for head in heads], dtype=int),
        indices.astype(np.int32),
        np.cumsum([tail.count(b":") for tail in tails], dtype=int),
        values.astype(np.float32),
    )


def _numbers(text: bytes, separator: str) -> np.ndarray:
    return np.fromstring(text, sep=separator) if text.strip() else np.empty(0)


def _plain(block: bytes) -> bytes:
    """Return the lines of instances, with LF ends and without tabs and comments."""
    text = b"\n" + block
    if not text.endswith(b"\n"):
        text += b"\n"
    if b"\r" in text:
        text = text.replace(b"\r\n", b"\n")
    if b"#" in text:
        text = re.sub(rb"\n#.*", b"", text)
        text = re.sub(rb"#.*", b"", text)
    return text[1:].replace(b"\t", b" ")
