"""A vectoriser as bytes, which a model holds: a line of JSON, inverse document frequencies, names or hashes."""

import json
from dataclasses import replace

import numpy as np

from mpu_cli.errors import DataError, InputError
from mpu_cli.text import stored
from mpu_cli.text.stored import Stored

_IDF, _HASHES = np.dtype("<f8"), np.dtype("<i4")


def packed(kept: Stored) -> bytes:
    """Return a vectoriser as bytes, without the data file that it belongs to."""
    header = json.dumps(stored.described(replace(kept, content=None)))
    names = "".join(f"{feature}\n" for feature in kept.features or ()).encode()
    hashes = b"" if kept.hashes is None else kept.hashes.astype(_HASHES).tobytes()
    return b"".join([header.encode(), b"\n", kept.idf.astype(_IDF).tobytes(), names, hashes])


def unpacked(data: bytes, source: str) -> Stored:
    """Return the vectoriser of `packed`.

    Parameters
    ----------
    data : bytes
    source : str
        Its file, for errors.

    Raises
    ------
    InputError
        It is damaged, or of a newer version.
    """
    try:
        header, _, rest = data.partition(b"\n")
        values = stored.parse(header, source)
        n_hashes = stored.number_of_hashes(values)
        size = (values["features"] if n_hashes is None else n_hashes + 1) * _IDF.itemsize
        idf = np.frombuffer(rest[:size], _IDF).astype(np.float64)
        if n_hashes is not None:
            return stored.made(values, idf, None, np.frombuffer(rest[size:], _HASHES).astype(np.int32))
        return stored.made(values, idf, None if values["options"]["hashing"] else rest[size:])
    except (DataError, KeyError, TypeError, ValueError) as error:
        raise InputError(source, None, f"the vectoriser is damaged ({error}); train the model again") from error
