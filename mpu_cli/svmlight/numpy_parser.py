"""The block parser in NumPy: a pattern checks each line, and NumPy reads all numbers of a block together."""

import re

import numpy as np

from mpu_cli.svmlight.dataset import Dataset, UnusualError
from mpu_cli.svmlight.grammar import FLOAT32_OVERFLOW, MAX_ID, NUMBER

_END = rb"(?=[ \t]|\Z)"
# By whether an index without a colon means the value 1.
_LINES = {
    implicit: re.compile(rb"(?:[0-9]+(?:,[0-9]+)*" + _END + rb")?(?:[ \t]*" + feature + _END + rb")*[ \t]*")
    for implicit, feature in {False: rb"[0-9]+:" + NUMBER, True: rb"[0-9]+(?::" + NUMBER + rb")?"}.items()
}
_NEWLINE, _COMMA, _COLON = b"\n,:"
_BETWEEN = b",:\t\n"  # what is between numbers, beside spaces
_ALL_SPACES = bytes.maketrans(_BETWEEN, b" " * len(_BETWEEN))


def parse(block: bytes, implicit_values: bool) -> Dataset:
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
    return Dataset.of_rows(
        numbers[is_label].astype(np.int32),
        np.searchsorted(starts[is_label], ends),
        numbers[is_index].astype(np.int32),
        np.searchsorted(starts[is_index], ends),
        values.astype(np.float32),
    )
