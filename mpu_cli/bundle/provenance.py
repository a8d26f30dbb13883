"""The record of a training in its model, for `mpu info`."""

import hashlib
import os
import platform
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from mpu_cli.bundle.manifest import Origin
from mpu_cli.errors import without_secrets
from mpu_cli.runtime.options import options_of
from mpu_cli.runtime.run import Run
from mpu_cli.svmlight.streams import Files
from mpu_cli.version import __version__

# As reproducible builds have it: a time in seconds since 1970 that takes the place of the present one.
_TIME_VARIABLE = "SOURCE_DATE_EPOCH"


@dataclass(frozen=True)
class SourceFile:
    """A data file before it is read."""

    path: str | Path | Files
    state: tuple[int, ...] | None  # by which a change of the file is seen; None where it is a stream, or several files
    parts: tuple["SourceFile", ...] = ()  # of several files that are read as one, each

    @classmethod
    def of(cls, path: str | Path | Files) -> "SourceFile":
        """Return a file with its state; a file that cannot be read is an error only for those who read it."""
        if isinstance(path, Files):
            return cls(path, None, tuple(map(cls.of, path)))
        with suppress(OSError):
            if Path(path).is_file():
                status = Path(path).stat()
                return cls(path, (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns))
        return cls(path, None)

    @classmethod
    def by_name(cls, path: str | Path | Files) -> "SourceFile":
        """Return a file without its state, since workers read it: it has neither size nor checksum."""
        return cls(path, None, tuple(map(cls.by_name, path)) if isinstance(path, Files) else ())

    def described(self) -> dict[str, Any]:
        """Return names, sizes and checksums, as `bundle.manifest.Origin` has them."""
        size, sha256 = self.content()
        name = without_secrets(str(self.path))
        files = [dict(zip(("name", "bytes", "sha256"), part.described().values(), strict=False)) for part in self.parts]
        return {"source": name, "source_bytes": size, "source_sha256": sha256, "files": files}

    def content(self) -> tuple[int, str] | tuple[None, None]:
        """Return size and SHA-256; None where it is a stream, several files, or has changed since."""
        if self.state is None or isinstance(self.path, Files):
            return None, None
        try:
            with Path(self.path).open("rb") as file:
                sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError:
            return None, None
        return (self.state[2], sha256) if SourceFile.of(self.path).state == self.state else (None, None)


def of_files(described: dict[str, Any], others: Mapping[str, Any]) -> dict[str, Any]:
    """Return the files of a training, for `record`: the data, from `SourceFile.described`; others by their options."""
    named = [(option, path) for option, path in others.items() if path is not None]
    texts = [without_secrets(option if str(path) in option else f"{option} {path}") for option, path in named]
    return {**described, "others": texts}


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
