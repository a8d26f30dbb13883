"""The files of a model that are not arrays.

The names of its labels are text, with a line ``number<TAB>name`` for each label. Its vectoriser is in the form of
`mpu_cli.text.packed`.
"""

import hashlib
import os
from pathlib import Path

from mpu_cli.bundle.array_files import expect
from mpu_cli.errors import ModelError, TooLargeError
from mpu_cli.names import LabelNames
from mpu_cli.runtime.files import open_regular
from mpu_cli.runtime.storage import available_memory

NAMES_PART, VECTORIZER_PART = "labels", "vectorizer"


def read_label_names(path: Path, name: str, checksum: str) -> LabelNames:
    """Read the names of a model's labels; errors as for `read_kept`. They are parsed on first use."""
    return LabelNames(read_kept(path, name, checksum), str(path / name))


def read_kept(path: Path, name: str, checksum: str) -> bytes:
    """Read a file of a model.

    Raises
    ------
    FileNotFoundError
    ValueError
        The file has another checksum, or is not a regular file.
    ModelError
        It cannot be read.
    TooLargeError
        It exceeds the free memory.
    """
    try:
        with open_regular(path / name) as file:
            size = os.fstat(file.fileno()).st_size
            if size > available_memory():
                raise TooLargeError(f"{path / name}: has {size / 1e9:,.1f} GB, more than there is free memory")
            text = file.read()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise ModelError(f"{path / name}: cannot be read: {error.strerror}") from error
    expect(hashlib.sha256(text).hexdigest() == checksum, f"the checksum of {name} is not the manifest's")
    return text
