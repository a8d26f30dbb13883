"""The record of a training in its model, for `mpu info`."""

import hashlib
import os
import platform
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from mpu_cli.bundle.manifest import Origin
from mpu_cli.errors import without_secrets
from mpu_cli.runtime.files import State, state_of
from mpu_cli.runtime.options import options_of
from mpu_cli.runtime.run import Run
from mpu_cli.svmlight.streams import Files, Source
from mpu_cli.version import __version__

# As reproducible builds have it: a time in seconds since 1970 that takes the place of the present one.
_TIME_VARIABLE = "SOURCE_DATE_EPOCH"


def described(files: Sequence[str], states: Sequence[State | None]) -> list[dict[str, Any]]:
    """Return names, sizes and checksums of files, as `bundle.manifest.Origin` has them.

    `states`: of each file before it was read; None where it is a stream, or others read it. Without one, and where a
    file has changed since, size and checksum are None.
    """
    found = []
    for file, state in zip(files, states, strict=True):
        size = sha256 = None
        with suppress(OSError):
            if state is not None:
                with Path(file).open("rb") as stream:
                    sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
                size, sha256 = (state[0], sha256) if state_of(file) == state else (None, None)
        found.append({"name": without_secrets(file), "bytes": size, "sha256": sha256})
    return found


def of_files(source: Source, files: list[dict[str, Any]], others: Mapping[str, Any]) -> dict[str, Any]:
    """Return the files of a training, for `record`: the data, as `described`; others by their options."""
    named = [(option, path) for option, path in others.items() if path is not None]
    texts = [without_secrets(option if str(path) in option else f"{option} {path}") for option, path in named]
    of_one = {"bytes": None, "sha256": None} if isinstance(source, Files) else files[0]
    return {
        "source": without_secrets(str(source)),
        "source_bytes": of_one["bytes"],
        "source_sha256": of_one["sha256"],
        "files": files if isinstance(source, Files) else [],
        "others": texts,
    }


def record(
    instances: int, annotated: np.ndarray, true: np.ndarray, options: Any, run: Run, files: dict[str, Any]
) -> bytes:
    """Return the record of a training, as a model keeps it.

    `annotated`, `true`: shape (q,): instances that are annotated with each label, and that have it, as estimated.
    Options are as the user set them: `c` may be a Path. `files` are from `of_files`; empty where the data were arrays.
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
    """Return the time of the training in UTC, or that of the variable ``SOURCE_DATE_EPOCH``."""
    time = os.environ.get(_TIME_VARIABLE)
    return (datetime.now(UTC) if time is None else datetime.fromtimestamp(int(time), UTC)).isoformat(timespec="seconds")
