"""The block parser in NumPy: a pattern checks each line, and NumPy reads all numbers of a block together.

`Rows` is the result of both kernels: flat arrays, and the instances made from them.
"""

import re
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.svmlight.dataset import Dataset
from mpu_cli.svmlight.grammar import FLOAT32_OVERFLOW, MAX_ID, NUMBER


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
    if not np.all((columns[1:] > columns[:-1]) | ~inside[1:]):
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


_END = rb"(?=[ \t]|\Z)"
# By whether an index without a colon means the value 1.
_LINES = {
    implicit: re.compile(rb"(?:[0-9]+(?:,[0-9]+)*" + _END + rb")?(?:[ \t]*" + feature + _END + rb")*[ \t]*")
    for implicit, feature in {False: rb"[0-9]+:" + NUMBER, True: rb"[0-9]+(?::" + NUMBER + rb")?"}.items()
}
_NEWLINE, _COMMA, _COLON = b"\n,:"
_BETWEEN = b",:\t\n"  # what is between numbers, beside spaces
_ALL_SPACES = bytes.maketrans(_BETWEEN, b" " * len(_BETWEEN))


def parse(block: bytes, implicit_values: bool) -> Rows:
    """Parse whole lines of a file without its header; the last one may lack its end.

    With `implicit_values`, an index without a colon means the value 1. UnusualError where a line breaks the grammar, or
    follows it in a rare form.
    """
    lines = [line.removesuffix(b"\r") for line in block.removesuffix(b"\n").split(b"\n")] if block else []
    lines = [line.partition(b"#")[0] for line in lines if not line.startswith(b"#")]
    if not all(map(_LINES[implicit_values].fullmatch, lines)):
        raise UnusualError
    text = b"\n".join([b"", *lines, b""])
    spaced = text.translate(_ALL_SPACES)
    numbers = np.fromstring(spaced, sep=" ") if spaced.strip() else np.zeros(0)

    characters, is_between = np.frombuffer(text, np.uint8), np.frombuffer(spaced, np.uint8) == ord(" ")
    starts = np.flatnonzero(is_between[:-1] & ~is_between[1:]) + 1
    before = characters[starts - 1]
    after = characters[np.flatnonzero(~is_between[:-1] & is_between[1:]) + 1]
    is_value = before == _COLON
    is_label = ((before == _NEWLINE) | (before == _COMMA)) & (after != _COLON)
    is_index = ~is_value & ~is_label
    values = np.ones(np.count_nonzero(is_index))
    values[after[is_index] == _COLON] = numbers[is_value]
    if numbers[~is_value].max(initial=0) > MAX_ID or np.abs(values).max(initial=0) >= FLOAT32_OVERFLOW:
        raise UnusualError
    ends = np.flatnonzero(characters == _NEWLINE)[1:]
    return Rows(
        numbers[is_label].astype(np.int32),
        np.searchsorted(starts[is_label], ends),
        numbers[is_index].astype(np.int32),
        np.searchsorted(starts[is_index], ends),
        values.astype(np.float32),
    )
