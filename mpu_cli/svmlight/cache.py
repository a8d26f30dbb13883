"""A cache of parsed files on disk, so that they need not be parsed again.

An entry is one file: a line of JSON that describes the source and the arrays, then the arrays, which are memory-mapped.
An entry is not used if the source has changed, if its format is another one, or if it is damaged, which checksums and a
check of the structure detect. An entry gets its name when it is complete, so several processes can read and write the
same entry at once.
"""

import errno
import hashlib
import io
import json
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from mpu_cli.errors import MpuError
from mpu_cli.runtime.files import open_regular, replacing
from mpu_cli.runtime.run import DEFAULT_RUN, Run
from mpu_cli.runtime.storage import mapped
from mpu_cli.runtime.untrusted import json_value
from mpu_cli.svmlight import reader
from mpu_cli.svmlight.dataset import Dataset, checked_csr
from mpu_cli.svmlight.grammar import DEFAULT_READING, MAX_ID, Reading
from mpu_cli.svmlight.streams import Content, Contents, Files, Source, refuse_unreadable

FORMAT_VERSION = 1
# Arrays: Q and D; labels; features. Checksums detect what a system that failed had not written.
_DTYPES = (np.int64, np.int64, np.int32, np.int64, np.int32, np.float32)
_ALIGNMENT = 64  # bytes
_LONGEST_HEADER = 1 << 16
_SAMPLES, _SAMPLE_BYTES = 16, 4096


def read(
    source: Source,
    reading: Reading = DEFAULT_READING,
    run: Run = DEFAULT_RUN,
    directory: Path | None = None,
    contents: Contents | None = None,
) -> Dataset:
    """Read a whole file, or load the arrays that an earlier call has cached. Each of several files has its own entry.

    `source`, `reading`, `run`, `contents`: as for `reader.read`. Only regular files are cached, with their contents.
    `directory`: directory of the cache, created if missing. Default: no cache.
    Returns: the same data as from `reader.read`. Arrays of an entry are memory-mapped; changes to them are not written
    back.
    Raises InputError (as for `reader.read`), MpuError (an entry cannot be written to the directory).
    """
    if directory is None:
        return reader.read(source, reading, run, contents=contents)
    if not isinstance(source, Files):
        return _read_file(source, reading, run, directory, contents or {})
    refuse_unreadable(source)
    datasets = (_read_file(file, reading, run, directory, contents or {}, may_be_empty=True) for file in source)
    data = reader.gathered((data for data in datasets if len(data)), len(source))
    if not len(data):
        raise reader.no_instances(source)
    return data


def _read_file(
    source: str | Path, reading: Reading, run: Run, directory: Path, contents: Contents, may_be_empty: bool = False
) -> Dataset:
    if (key := _key(source, reading)) is None:
        return reader.read(source, reading, run, may_be_empty, contents)
    entry = _entry(directory, key)
    wanted = str(source) in contents
    kept = _load(entry, key)
    if kept is not None and (len(kept[0]) or may_be_empty) and (kept[1] or not wanted):
        if wanted:
            contents[str(source)] = kept[1]
        return kept[0]
    _make(directory)
    data = reader.read(source, reading, run, may_be_empty, contents)
    if _key(source, reading) != key:  # it has changed while it was read; the data may mix both versions
        return data
    _save(data, entry, key, contents.get(str(source)))
    kept = _load(entry, key)
    return data if kept is None else kept[0]


def _key(source: str | Path, reading: Reading) -> dict[str, Any] | None:
    """Return the key of a file: its name, version and options of reading; None if it is not a regular file."""
    try:
        if not Path(source).is_file():
            return None
        with Path(source).open("rb") as file:
            status = os.fstat(file.fileno())
            sample = hashlib.sha256()
            for start in np.linspace(0, max(status.st_size - _SAMPLE_BYTES, 0), _SAMPLES, dtype=np.int64).tolist():
                file.seek(start)
                sample.update(file.read(_SAMPLE_BYTES))
    except OSError:
        return None  # the reader raises the error
    return {
        "path": str(Path(source).absolute()),
        "size": status.st_size,
        "mtime_ns": status.st_mtime_ns,
        "sample": sample.hexdigest(),
        "reading": asdict(reading),
    }


def _entry(directory: Path, key: dict[str, Any]) -> Path:
    """Return the path of an entry. It depends on the path of the source, so a new version replaces the old one."""
    place = hashlib.sha256(json.dumps([key["path"], key["reading"]]).encode()).hexdigest()
    return directory / f"{place[:32]}.mpu-cache"


def _make(directory: Path) -> None:
    with _report_unwritable(directory):
        directory.mkdir(parents=True, exist_ok=True)
        if not os.access(directory, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def _save(data: Dataset, entry: Path, key: dict[str, Any], of_source: Content | None = None) -> None:
    labels, features = data.labels, data.features
    parts = (
        [labels.shape[1], features.shape[1]],
        labels.indptr,
        labels.indices,
        features.indptr,
        features.indices,
        features.data,
    )
    arrays = [np.asarray(part, dtype) for part, dtype in zip(parts, _DTYPES, strict=True)]
    sums = [{"size": len(array), "crc32": zlib.crc32(array.data)} for array in arrays]
    if entry.is_dir():
        return  # not ours
    with _report_unwritable(entry), replacing(entry) as file:
        values = {"format_version": FORMAT_VERSION, "key": key, "arrays": sums, "content": of_source}
        header = json.dumps(values).encode() + b"\n"
        contents: list[bytes | memoryview] = [header, *(array.data for array in arrays)]
        for content in contents:
            file.write(content)
            file.write(bytes(-memoryview(content).nbytes % _ALIGNMENT))


@contextmanager
def _report_unwritable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise MpuError(f"{path}: parsed data cannot be kept there: {error.strerror}") from error


def _load(entry: Path, key: dict[str, Any]) -> tuple[Dataset, Content | None] | None:
    """Return the data of an entry, and the content of its source, None if the entry does not have it.

    Return None if the entry is missing, damaged, or of another version of the source.
    """
    try:
        with io.BufferedReader(open_regular(entry)) as file:
            header = json_value(file.readline(_LONGEST_HEADER))
            if header["format_version"] != FORMAT_VERSION or header["key"] != key:
                return None
            content = None if header.get("content") is None else tuple(header["content"])
            offset = _aligned(file.tell())
            arrays = []
            for dtype, expected in zip(_DTYPES, header["arrays"], strict=True):
                array = mapped(file, dtype, expected["size"], mode="c", offset=offset)
                if zlib.crc32(array.data) != expected["crc32"]:
                    return None
                arrays.append(array)
                offset = _aligned(offset + array.nbytes)
        (Q, D), label_indptr, label_indices, indptr, indices, values = arrays
        if max(Q, D) > MAX_ID + 1 or len(label_indptr) != len(indptr):
            return None
        labels = checked_csr(np.ones(len(label_indices), bool), label_indices, label_indptr, Q)
        data = Dataset(labels, checked_csr(values, indices, indptr, D))
    except (OSError, ValueError, LookupError, TypeError, ArithmeticError):  # all of these may come from damage
        return None
    return data, content


def _aligned(offset: int) -> int:
    return -(-offset // _ALIGNMENT) * _ALIGNMENT
