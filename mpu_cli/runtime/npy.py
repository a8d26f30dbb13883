"""Arrays in NumPy's format that may come from someone who is not trusted."""

from ast import literal_eval
from typing import IO

import numpy as np


def read_npy(file: IO[bytes], name: str, dtype: type, shape: tuple[int, ...]) -> np.ndarray:
    """Return the array in a file, if it is of this dtype and shape. Nothing is unpickled.

    Parameters
    ----------
    file : binary file
        Of which that is known to have the bytes of such an array at most, and little more.
    name : str
        Of the array, for errors.
    dtype : type
    shape : tuple of int

    Raises
    ------
    ValueError
        It is another one, or none.
    """
    header = _header(file, name)
    if header != (dtype, shape):
        raise ValueError(f"{name} is {header[0]} {header[1]}")
    file.seek(0)
    array = np.lib.format.read_array(file, allow_pickle=False)
    if file.read(1):
        raise ValueError(f"{name} is too long")
    return array


def _header(file: IO[bytes], name: str) -> tuple[np.dtype, tuple[int, ...]]:
    try:
        version = np.lib.format.read_magic(file)
        text = file.read(int.from_bytes(file.read(2), "little"))
        literal_eval(text.decode("latin-1"))  # where this fails, NumPy looks for a header of Python 2, and warns
        file.seek(np.lib.format.MAGIC_LEN)
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    except Exception:  # its text is parsed as Python, which fails in many ways, and in each version in others
        raise ValueError(f"{name} has no header of an array") from None
    if version != (1, 0):
        raise ValueError(f"{name} is of another version of the npy format")
    return dtype, shape
