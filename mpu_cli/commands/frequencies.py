"""Files of label frequencies: one line ``label c`` per label, with ``#`` comments."""

from functools import partial
from pathlib import Path

import numpy as np

from mpu_cli.errors import InputError
from mpu_cli.runtime.ranges import LEAST_FREQUENCY
from mpu_cli.svmlight.streams import open_input

_LINE_BYTES = 1 << 16  # no label and number need as many; what has no line ends must not fill the memory


def read_frequencies(source: str | Path, label_ids: np.ndarray) -> np.ndarray:
    """Read the label frequency of each of some labels.

    Parameters
    ----------
    source : str or Path
    label_ids : ndarray of int, shape (q,)
        The labels to look up. Other labels in the file are ignored.

    Returns
    -------
    ndarray of float64, shape (q,), from `LEAST_FREQUENCY` to 1

    Raises
    ------
    InputError
        As for `frequencies_of_file`, or one of the labels is missing.
    """
    frequencies = frequencies_of_file(source)
    if absent := [label for label in label_ids.tolist() if label not in frequencies]:
        raise InputError(
            str(source),
            None,
            f"there is no line for label {absent[0]}; each label of the data, and of a review of them, needs one",
        )
    return np.array([frequencies[label] for label in label_ids.tolist()])


def frequencies_of_file(source: str | Path) -> dict[int, float]:
    """Read the label frequency of each label of a file.

    Raises
    ------
    InputError
        A line is not a label and a number from `LEAST_FREQUENCY` to 1, or a label occurs twice.
    """
    frequencies: dict[int, float] = {}
    with open_input(source) as stream:
        for number, line in enumerate(iter(partial(stream.readline, _LINE_BYTES), b""), 1):
            fields = line.partition(b"#")[0].split()
            if not fields:
                continue
            try:
                text, c = fields
                label = int(text) if text.isdigit() else None
                if label is None or not LEAST_FREQUENCY <= float(c) <= 1:
                    raise ValueError
            except ValueError:  # also from int, beyond 4,300 digits
                raise InputError(
                    str(source),
                    number,
                    f"expected a label and its frequency, a number from {LEAST_FREQUENCY:g} to 1, such as: 12 0.4",
                ) from None
            if label in frequencies:
                raise InputError(str(source), number, f"label {label} is there twice; remove one of the lines")
            frequencies[label] = float(c)
    return frequencies


def frequency_lines(label_ids: np.ndarray, c: np.ndarray) -> bytes:
    """Return the lines of a frequency file."""
    return "".join(
        f"{label} {value:.6g}\n" for label, value in zip(label_ids.tolist(), c.tolist(), strict=True)
    ).encode()
