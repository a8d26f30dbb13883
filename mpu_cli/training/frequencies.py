"""Files of label frequencies, and of the groups of instances in which they are estimated.

A file of label frequencies has one line ``label c`` per label, with ``#`` comments. A file of groups has the name of
the group of instance k on line k.
"""

import re
from pathlib import Path

import numpy as np

from mpu_cli.core.data.problem import InstanceGroups
from mpu_cli.errors import InputError, counted
from mpu_cli.names import LabelNames
from mpu_cli.names.cells import cell
from mpu_cli.names.label_names import is_number, label_of
from mpu_cli.names.lines import read_each, text_lines
from mpu_cli.runtime.options import LEAST_FREQUENCY

# The end of a line. There is one way only to read a text by it, so that it takes linear time.
_FREQUENCY = re.compile(r"\s((?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?|\d+\.)\s*(?:#|\Z)", re.ASCII)


def read_frequencies(
    source: str | Path, label_ids: np.ndarray, names: LabelNames | None = None, may_be_absent: np.ndarray | None = None
) -> np.ndarray:
    """Read the label frequency of each label.

    Parameters
    ----------
    source : str or Path
    label_ids : ndarray of int, shape (q,)
        The labels to look up. Other labels in the file are ignored.
    names : LabelNames, optional
        By which the file may name labels.
    may_be_absent : ndarray of int, optional
        Labels that need no line: they get the mean of the others.

    Returns
    -------
    ndarray of float64, shape (q,), from `LEAST_FREQUENCY` to 1

    Raises
    ------
    InputError
        As for `frequencies_of_file`, or one of the labels is missing.
    """
    frequencies = frequencies_of_file(source, names)
    c = np.array([frequencies.get(label, np.nan) for label in label_ids.tolist()])
    absent = np.isnan(c)
    if len(needed := np.setdiff1d(label_ids[absent], () if may_be_absent is None else may_be_absent)):
        raise InputError(
            str(source),
            None,
            f"there is no line for label {needed[0]}; each label of the data, and of a review of them, needs one",
        )
    return np.where(absent, c[~absent].mean(), c)


def frequencies_of_file(source: str | Path, names: LabelNames | None = None) -> dict[int, float]:
    """Read the label frequency of each label of a file.

    Raises
    ------
    InputError
        A line is not a label and a number from `LEAST_FREQUENCY` to 1, there is no label of this name, or a label
        occurs twice.
    """
    frequencies: dict[int, float] = {}

    def read(line: str) -> None:
        if not line.partition("#")[0].strip():
            return
        label, c = _parse(line.strip(), names)
        if label in frequencies:
            raise ValueError(f"label {label} is there twice; remove one of the lines")
        frequencies[label] = c

    read_each(text_lines(source, lenient=True), source, read)
    return frequencies


def _parse(text: str, names: LabelNames | None) -> tuple[int, float]:
    """Return label and frequency; the label is a number, or a name, which may have blanks and ``#`` in it."""
    match = _FREQUENCY.search(text)
    label, c = (text[: match.start()].strip(), float(match[1])) if match else ("", 0.0)
    if not LEAST_FREQUENCY <= c <= 1 or (names is None and not is_number(label)):
        raise ValueError(
            f"expected a label and its frequency, a number from {LEAST_FREQUENCY:g} to 1, such as: 12 0.4"
            + " (names of labels are known by --labels)" * (names is None)
        )
    return label_of(label, names), c


def frequency_lines(label_ids: np.ndarray, c: np.ndarray, names: LabelNames | None = None) -> bytes:
    """Return the lines of a frequency file, with the name of each label as a comment where there are names."""
    comments = [""] * len(c) if names is None else [f"  # {cell(names.name(label))}" for label in label_ids.tolist()]
    rows = zip(label_ids.tolist(), c.tolist(), comments, strict=True)
    return "".join(f"{label} {value:.6g}{comment}\n" for label, value, comment in rows).encode()


def read_groups(source: str | Path, n: int) -> InstanceGroups:
    """Read the group of each of n instances.

    Parameters
    ----------
    source : str or Path
        UTF-8 text, plain or compressed. An empty line: the instance is in the group without a name.
    n : int

    Returns
    -------
    InstanceGroups
        In the order of their names.

    Raises
    ------
    InputError
        The file cannot be read, or has another number of lines.
    """
    lines = [line.strip() for _, line in zip(range(n + 1), text_lines(source), strict=False)]
    if len(lines) != n:
        how = "more" if len(lines) > n else f"{len(lines):,}"
        problem = f"has {how} lines, and there are {counted(n, 'instance')}: line k names the group of instance k"
        raise InputError(str(source), None, problem)
    names, numbers = np.unique(np.array(lines, dtype=object), return_inverse=True)
    return InstanceGroups(numbers, tuple(names.tolist()))
