"""How a model was trained: shown by `mpu info`, and not needed for predictions.

The record is in a separate file, ``training-CHECKSUM.json``, so that all other files of a model have the same bytes for
the same data, options and seed. The checksum is that of the manifest.
"""

import hashlib
import json
import logging
import os
import platform
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, get_origin, get_type_hints

import numpy as np

from mpu_cli.bundle.loading import TrainedModel, digest, number_list
from mpu_cli.errors import without_secrets
from mpu_cli.runtime.files import State, state_of
from mpu_cli.runtime.options import options_of
from mpu_cli.runtime.run import Run
from mpu_cli.runtime.untrusted import expect, json_object
from mpu_cli.svmlight.streams import Source, files_of
from mpu_cli.version import __version__

_log = logging.getLogger(__name__)
_ORIGIN_FORMAT, _ORIGIN_FORMAT_VERSION = "mpu training", 1
# Values for a data file, as it was named; no size and checksum if it was a stream, or changed meanwhile.
_OF_FILE = {"name": str, "bytes": int | None, "sha256": str | None}


@dataclass(frozen=True)
class Origin:
    """How a model was trained."""

    time: str  # Time of saving: ISO 8601, in UTC.
    instances: int
    # Number of annotations of each label of the model.
    annotated: list[int]
    # Number of true labels, estimated from the annotations with the label frequency and reviewers' decisions.
    true: list[float]
    options: dict[str, Any]  # The options that differ from their defaults: JSON values.
    versions: dict[str, str]  # Versions of mpu, Python and the numerical packages.
    kernel: str  # The inner loops: "numpy" or "numba".
    source: str | None = None  # The data, as the user named them; None for arrays.
    # Dictionaries as in `_OF_FILE`, one for each file of the data.
    files: list[dict[str, Any]] = field(default_factory=list)
    others: list[str] = field(default_factory=list)  # Other training files, each with its option.

    def written(self) -> bytes:
        """Return the content of the file; the reverse of `parse_origin`."""
        values = {"format": _ORIGIN_FORMAT, "format_version": _ORIGIN_FORMAT_VERSION, **asdict(self)}
        return (json.dumps({**values, "sha256": digest(values)}) + "\n").encode()


def origin_of(model: TrainedModel, path: Path) -> Origin | None:
    """Return how a model was trained; None if that is unknown, or damaged, which a warning says."""
    try:
        return None if model.origin is None else parse_origin(model.origin, len(model.label_ids))
    except ValueError as error:
        _log.warning(f"{path}: the record of its training is damaged ({error}), so it is left out")
        return None


def parse_origin(content: bytes, n_labels: int) -> Origin:
    """Parse and check the file of a model with `n_labels` labels.

    Raises ValueError (it is damaged, or has a newer version).
    """
    try:
        values = json_object(content)
        expect(values.pop("sha256") == digest(values), "its checksum does not match its content")
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


# Convention of reproducible builds: a time in seconds since 1970 that replaces the current time.
_TIME_VARIABLE = "SOURCE_DATE_EPOCH"


def described(source: Source, states: Sequence[State | None], others: Mapping[str, Any]) -> dict[str, Any]:
    """Return the files of a training, for `record`: names, sizes and checksums of the data; others by their options.

    `states`: of each data file before it was read; None if it is a stream, or read by other processes. Size and
    checksum are None if the state is None, or if the file has changed since.
    """
    files = []
    for file, state in zip(files_of(source), states, strict=True):
        size = sha256 = None
        with suppress(OSError):
            if state is not None:
                with Path(file).open("rb") as stream:
                    sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
                size, sha256 = (state[0], sha256) if state_of(file) == state else (None, None)
        files.append({"name": without_secrets(file), "bytes": size, "sha256": sha256})
    named = [(option, path) for option, path in others.items() if path is not None]
    return {
        "source": without_secrets(str(source)),
        "files": files,
        "others": [without_secrets(option if str(path) in option else f"{option} {path}") for option, path in named],
    }


def record(
    instances: int, annotated: np.ndarray, true: np.ndarray, options: Any, run: Run, files: dict[str, Any]
) -> bytes:
    """Return the record of a training, as stored in a model.

    `annotated`, `true`: shape (q,): for each label, the number of annotated instances, and the estimated number of
    true ones. Options are as the user set them: `c` may be a Path. `files`: from `described`; empty for arrays.
    """
    chosen = {}
    for name, option in options_of(type(options)).items():
        value = getattr(options, name)
        if isinstance(value, np.ndarray):
            chosen[name] = value.tolist()
        elif value != option.default:
            chosen[name] = str(value) if isinstance(value, Path) else value
    if run.seed:
        chosen["seed"] = run.seed
    packages = ("numpy", "scipy", *(["numba"] if run.compiled else []))
    versions = {"mpu": __version__, "python": platform.python_version(), **{name: version(name) for name in packages}}
    kernel = "numba" if run.compiled else "numpy"
    return Origin(now(), instances, annotated.tolist(), true.tolist(), chosen, versions, kernel, **files).written()


def now() -> str:
    """Return the current time in UTC, or the time in the variable ``SOURCE_DATE_EPOCH``."""
    time = os.environ.get(_TIME_VARIABLE)
    return (datetime.now(UTC) if time is None else datetime.fromtimestamp(int(time), UTC)).isoformat(timespec="seconds")
