"""The JSON files of a model: its manifest, and the provenance that `mpu info` shows and no prediction needs.

``manifest.json`` has the numbers of a model, and names and checksums of the files with its arrays. The provenance is a
file of its own, ``training-CHECKSUM.json``, so that all other files of a model have the same bytes for the same data,
options and seed. The checksum is that of its manifest.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, get_origin, get_type_hints

import numpy as np

from mpu_cli.bundle.model_arrays import number_list, whole
from mpu_cli.errors import ModelError
from mpu_cli.runtime.files import open_regular
from mpu_cli.runtime.report import HIDDEN, NULL
from mpu_cli.runtime.untrusted import expect, json_value
from mpu_cli.svmlight.grammar import MAX_ID

FORMAT, FORMAT_VERSION = "mpu model", 1
MANIFEST = "manifest.json"
MOST_BYTES = 1 << 25
# Values for each label, in the first file.
OF_LABELS: dict[str, type] = {"labels": np.int64, "c": np.float64, "thresholds": np.float32}
# In place of the option c in a manifest: c is in the array of that name, one for each label.
C_OF_LABELS = "labels"
# Most brackets, quotation marks and colons in it: only its lists of numbers are long, and all else takes far more
# memory than its text.
MOST_MARKS = 1 << 12
ARRAYS_NAME = re.compile(r"(level\d+|kernel)-[0-9a-f]{16}\.npz")
# The names of files that not every model has: of the names of labels, the vectoriser, and which labels imply others.
OTHER_NAMES = {
    "names": re.compile(r"labels-[0-9a-f]{16}\.txt"),
    "vectorizer": re.compile(r"vectorizer-[0-9a-f]{16}\.bin"),
    "implied": re.compile(r"implied-[0-9a-f]{16}\.npz"),
}


@dataclass(frozen=True)
class Manifest:
    """The content of a manifest; `writing` writes one."""

    options: dict[str, Any]
    n_features: int
    n_labels: int
    n_known: int  # number of features that occurred in training
    numbers: dict[str, Any]  # the numbers of the predictor
    files: list[tuple[str, str]]  # name and SHA-256 of the file of each part
    others: dict[str, tuple[str, str]]  # the same of the others that there are, by the keys of `OTHER_NAMES`
    pairs: int = 0  # of a label and one that it implies


def digest(values: dict[str, Any]) -> str:
    """Return the checksum of a manifest's values."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def parse(path: Path, text: bytes) -> Manifest:
    """Parse and check the manifest of a model, whose path is for messages.

    Raises ModelError (it is damaged, or of another format version).
    """
    with refusing_damage(f"{path}: manifest.json is damaged"):
        values = json_values(text)
        version = values["format_version"]
        expect(values["format"] == FORMAT and type(version) is int and version >= 1, "of another format")
        if version > FORMAT_VERSION:
            raise ModelError(
                f"{path}: is of model format {version}, and this mpu reads {FORMAT_VERSION}; train the model again, or "
                "install the mpu that wrote it"
            )
        expect(values.pop("sha256") == digest(values), "its checksum does not match its content")
        return _manifest(values)


@contextmanager
def refusing_damage(problem: str) -> Iterator[None]:
    """Raise ModelError, which begins with a problem, for what the values of a damaged model raise."""
    try:
        yield
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else error
        raise ModelError(f"{problem} ({reason}); copy or train the model again") from error


def manifest_of(model: Path) -> bytes | None:
    """Return the manifest of a model, by which two are the same; None if there is none, or it cannot be read."""
    with suppress(OSError, ValueError):
        return read_small(model / MANIFEST)
    return None


def read_small(path: Path) -> bytes:
    """Read a regular file of at most `MOST_BYTES`; ValueError where it is larger; else errors as of `open_regular`."""
    with open_regular(path) as file:
        expect(os.fstat(file.fileno()).st_size <= MOST_BYTES, f"it has more than {MOST_BYTES:,} bytes")
        return file.read()


def json_values(text: bytes, most_marks: int = MOST_MARKS) -> dict[str, Any]:
    """Return the values of a JSON object, in which only lists of numbers are long; ValueError otherwise.

    It has at most `most_marks` brackets, quotation marks and colons.
    """
    expect(sum(map(text.count, (b"[", b"{", b'"', b":"))) <= most_marks, "its lists contain more than numbers")
    values = json_value(text.decode("utf-8"), strict=True)
    expect(isinstance(values, dict), "it is not a JSON object")
    return values


def _manifest(values: dict[str, Any]) -> Manifest:
    numbers, options = values["predictor"], values["options"]
    expect(isinstance(numbers, dict) and isinstance(options, dict), "numbers or options are not named")
    expect(type(values["files"]) is list and bool(values["files"]), "no files")
    files = [_file(entry, ARRAYS_NAME) for entry in values["files"]]
    others = {kind: _file(values[kind], pattern) for kind, pattern in OTHER_NAMES.items() if kind in values}
    pairs = whole(values["implied"]["pairs"]) if "implied" in others else 0
    n_features = whole(values["features"])
    expect(n_features <= MAX_ID + 1, "features out of range")
    n_labels = whole(values["labels"], 1)
    expect(n_labels <= MAX_ID + 1, "labels out of range")
    n_known = whole(values["features_known"])
    expect(n_known <= n_features, "known features out of range")
    return Manifest(options, n_features, n_labels, n_known, numbers, files, others, pairs)


def _file(entry: dict[str, Any], pattern: re.Pattern[str]) -> tuple[str, str]:
    name, checksum = entry["file"], entry["sha256"]
    expect(type(name) is str and type(checksum) is str, "a file's name or checksum is not a text")
    expect(bool(pattern.fullmatch(name)), f"no file can be named {name[:80]!r}")
    return name, checksum


ORIGIN_NAME = re.compile(r"training-[0-9a-f]{16}\.json")
_ORIGIN_FORMAT, _ORIGIN_FORMAT_VERSION = "mpu training", 1
_MOST_ORIGIN_MARKS = 1 << 21  # 14 for each of many files
# Of a file of data, as it was named; without size and checksum if it was a stream, or changed meanwhile.
_OF_FILE = {"name": str, "bytes": int | None, "sha256": str | None}


@dataclass(frozen=True)
class Origin:
    """How a model was trained."""

    time: str  # Time of saving: ISO 8601, in UTC.
    instances: int
    # Number of annotations of each label of the model.
    annotated: list[int] = field(metadata=HIDDEN)  # long, and asked for by label
    # Number of true labels, estimated from these by the label frequency and by decisions of reviewers.
    true: list[float] = field(metadata=HIDDEN)
    options: dict[str, Any]  # The options that differ from their defaults: JSON values.
    versions: dict[str, str]  # Versions of mpu, Python and the numerical packages.
    kernel: str  # The inner loops: "numpy" or "numba".
    source: str | None = field(default=None, metadata=NULL)  # The data, as the user named them; None for arrays.
    # `source_bytes`, `source_sha256`: Size and checksum of that file; None if it was a stream, or changed meanwhile.
    source_bytes: int | None = field(default=None, metadata=NULL)
    source_sha256: str | None = field(default=None, metadata=NULL)
    # By `_OF_FILE`, if the data were several files; `source` has their number.
    files: list[dict[str, Any]] = field(default_factory=list)
    others: list[str] = field(default_factory=list)  # Other training files, each with its option.

    def written(self) -> bytes:
        """Return the content of the file; the reverse of `parse_origin`."""
        return (
            json.dumps({"format": _ORIGIN_FORMAT, "format_version": _ORIGIN_FORMAT_VERSION, **asdict(self)}) + "\n"
        ).encode()


def origin_name(manifest: bytes) -> str:
    """Return the name of the file that belongs to a manifest."""
    return f"training-{hashlib.sha256(manifest).hexdigest()[:16]}.json"


def parse_origin(content: bytes, n_labels: int) -> Origin:
    """Parse and check the file of a model with `n_labels` labels.

    Raises ValueError (it is damaged, or of a newer version).
    """
    try:
        values = json_values(content, _MOST_ORIGIN_MARKS)
        expect(values.pop("format") == _ORIGIN_FORMAT, "of another format")
        expect(values.pop("format_version") == _ORIGIN_FORMAT_VERSION, "of a newer version")
        expect(values.keys() == {f.name for f in fields(Origin)}, "other values are expected")
        for name, hint in get_type_hints(Origin).items():
            kind = get_origin(hint) if get_origin(hint) in (list, dict) else hint
            expect(isinstance(values[name], kind) and not isinstance(values[name], bool), f"{name} is of another type")
        for name, dtype in (("annotated", int), ("true", float)):
            expect(len(number_list(values[name], name, dtype)) == n_labels, f"{name} is of another length")
        for file in values["files"]:
            expect(file.keys() == _OF_FILE.keys(), "a file has other values")
            expect(all(isinstance(file[name], kind) for name, kind in _OF_FILE.items()), "a file has other types")
        expect(all(isinstance(text, str) for text in (*values["others"], *values["versions"].values())), "no texts")
        return Origin(**values)
    except (KeyError, TypeError, AttributeError, OverflowError) as error:
        raise ValueError(f"{error} is missing" if isinstance(error, KeyError) else str(error)) from None
