"""Reading the files of a model, which may come from someone who is not trusted.

A file of arrays is an ``.npz`` as NumPy writes it. Before memory is allocated, the size of the file and the name,
dtype, shape and position of each array are compared with the manifest. Nothing is inflated or unpickled, and no array
is larger than its file.

The names of a model's labels are text, with a line ``number<TAB>name`` for each label. The vectoriser is in the form of
`mpu_cli.text.stored`.
"""

import hashlib
import io
import math
import os
import zipfile
from pathlib import Path

import numpy as np

from mpu_cli.errors import ModelError, TooLargeError
from mpu_cli.runtime.files import open_regular
from mpu_cli.runtime.machine import available_memory
from mpu_cli.runtime.untrusted import expect, read_npy

# The dtype and the shape of each array of a file.
Layout = dict[str, tuple[type, tuple[int, ...]]]

# Headers and directory of an .npz, an array; NumPy uses about 400.
_OVERHEAD = 4096
_LONGEST_READ = 1 << 20


def ascending(array: np.ndarray) -> bool:
    """Whether each number is larger than the one before; their differences might leave the range of their type."""
    return bool(np.all(array[1:] > array[:-1]))


def read_arrays(path: Path, checksum: str, layout: Layout) -> dict[str, np.ndarray]:
    """Read the arrays of a file, each of the dtype and shape that its layout has, and finite.

    The checksum is its SHA-256, hexadecimal.

    Raises FileNotFoundError, ModelError (the file is damaged, has other arrays, or cannot be read), TooLargeError (its
    arrays exceed the free memory).
    """
    try:
        with _ShortReads(open_regular(path)) as file:
            data = sum(np.dtype(dtype).itemsize * math.prod(shape) for dtype, shape in layout.values())
            size = os.fstat(file.fileno()).st_size
            expect(data < size <= data + _OVERHEAD * len(layout), f"it has {size:,} bytes, for {data:,} of arrays")
            if data > (free := available_memory()):
                raise TooLargeError(f"{path}: takes {data / 1e9:,.1f} GB of memory, and {free / 1e9:,.1f} GB are free")
            expect(
                hashlib.file_digest(file, "sha256").hexdigest() == checksum,
                "its checksum differs from the one in the manifest",
            )
            with zipfile.ZipFile(file) as archive:
                names = [member.filename for member in archive.infolist()]
                expect(sorted(names) == sorted(f"{name}.npy" for name in layout), "it holds other arrays")
                return {name: _read_array(archive, name, *layout[name]) for name in layout}
    except (FileNotFoundError, MemoryError, TooLargeError):
        raise
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror or error}") from error
    except Exception as error:  # a damaged zip archive raises errors of many types
        problem = str(error) if str(error).isprintable() else repr(str(error))  # it may quote bytes of the file
        raise ModelError(f"{path}: is damaged ({problem}); copy or train the model again") from error


class _ShortReads(io.BufferedReader):
    """A file whose reads end after a megabyte, since `zipfile` reads the directory of an archive in one go."""

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(_LONGEST_READ if size is None or size < 0 else min(size, _LONGEST_READ))


def _read_array(archive: zipfile.ZipFile, name: str, dtype: type, shape: tuple[int, ...]) -> np.ndarray:
    member = archive.getinfo(f"{name}.npy")
    expect(member.compress_type == zipfile.ZIP_STORED, f"{name} is compressed")
    with archive.open(member) as file:
        array = read_npy(file, name, dtype, shape)
    expect(bool(np.isfinite(array).all()), f"{name} is not finite")
    return array


def read_kept(path: Path, name: str, checksum: str) -> bytes:
    """Read a file of a model.

    Raises FileNotFoundError, ValueError (the file has another checksum, or is not a regular file), ModelError (it
    cannot be read), TooLargeError (it exceeds the free memory).
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
