"""A vectoriser as one piece, which a model keeps: a line of JSON, the inverse document frequencies, the names."""

import json
from dataclasses import replace

import numpy as np

from mpu_cli.errors import DataError, InputError
from mpu_cli.text import stored
from mpu_cli.text.stored import Stored

_IDF = np.dtype("<f8")


def packed(kept: Stored) -> bytes:
    """Return a vectoriser as bytes, without the data file that it belongs to."""
    header = json.dumps(stored.described(replace(kept, content=None)))
    names = "".join(f"{feature}\n" for feature in kept.features or ())
    return b"".join([header.encode(), b"\n", kept.idf.astype(_IDF).tobytes(), names.encode()])


def unpacked(data: bytes, source: str) -> Stored:
    """Return the vectoriser of `packed`.

    Parameters
    ----------
    data : bytes
    source : str
        Where it comes from, for errors.

    Raises
    ------
    InputError
        It is damaged, or of a newer version.
    """
    try:
        header, _, rest = data.partition(b"\n")
        values = stored.parse(header, source)
        size = values["features"] * _IDF.itemsize
        idf = np.frombuffer(rest[:size], _IDF).astype(np.float64)
        return stored.made(values, idf, None if values["options"]["hashing"] else rest[size:])
    except (DataError, KeyError, TypeError, ValueError) as error:
        raise InputError(source, None, f"the vectoriser is damaged ({error}); train the model again") from error
