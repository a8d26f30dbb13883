"""Finished steps of a training, kept in a directory until the model is saved (``mpu train --resume``).

Each step is one file. Its name consists of a checksum of the data and options, the name of the step, and a checksum of
its content. A file gets its name when it is complete. So after a kill, a step is there completely or not at all, and a
damaged step, or one of other data or options, is not used.
"""

import hashlib
import re
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from scipy.sparse import csr_array

from mpu_cli.errors import ModelError
from mpu_cli.runtime import signals
from mpu_cli.runtime.files import checksum
from mpu_cli.runtime.run import Checkpoint, Checkpoints, Run
from mpu_cli.version import __version__

_STEP_NAME = re.compile(r"(?P<key>[0-9a-f]{16})-(?P<step>[a-z0-9-]+)-(?P<checksum>[0-9a-f]{64})\.npz")
_TEMPORARY = ".writing-"


def folder_of(model: Path) -> Path:
    """Return the directory for the steps of a model's training: news.mpu.resume beside news.mpu."""
    return model.with_name(f"{model.name}.resume")


def fingerprint(run: Run, *inputs: Any) -> str:
    """Return a checksum of everything that the result of a training depends on.

    `run`: only its seed and kernels enter.
    `*inputs`: arrays, CSR arrays, strings, numbers, None, and dicts, sequences and dataclasses of them. The versions of
    mpu, NumPy and SciPy enter too.
    """
    digest = hashlib.sha256()
    _feed(digest.update, (__version__, np.__version__, scipy.__version__, run.compiled, run.seed, inputs))
    return digest.hexdigest()


def _feed(update: Callable[[bytes | memoryview], None], value: Any) -> None:
    match value:
        case np.ndarray():
            update(f"{value.dtype.str}{value.shape}".encode())
            update(np.ascontiguousarray(value).data.cast("B") if value.size else b"")
        case csr_array():
            _feed(update, (value.shape, value.indptr, value.indices, value.data))
        case _ if is_dataclass(value):
            _feed(update, {field.name: getattr(value, field.name) for field in fields(value)})
        case Mapping():
            _feed(update, sorted(value.items()))
        case list() | tuple():
            update(f"[{len(value)}]".encode())
            for item in value:
                _feed(update, item)
        case _:
            update(f"{value!r};".encode())


class CheckpointFiles(Checkpoints):
    """Checkpoints in files: the finished steps of one training. Made by `open_checkpoints`.

    `n_steps`: number of steps that an interrupted training has left.
    """

    def __init__(self, folder: Path, key: str) -> None:
        self._folder = folder
        self._key = key[:16]
        self.n_steps = sum(name["key"] == self._key for _, name in _steps(folder))

    def load(self, step: str) -> Checkpoint | None:
        """Return the result of a step, or None if its file is missing or damaged."""
        for path, name in _steps(self._folder):
            if (name["key"], name["step"]) == (self._key, _slug(step)):
                return _read(path, name["checksum"])
        return None

    def save(self, step: str, result: Callable[[], Checkpoint]) -> None:
        """Write the result of a step.

        Raises
        ------
        ModelError
            It cannot be written.
        """
        unnamed = self._folder / f"{_TEMPORARY}{secrets.token_hex(8)}"
        with _said_to_be_unwritable(self._folder), signals.temporary(unnamed) as rename:
            with unnamed.open("xb") as file:
                np.savez(file, **result())
            with suppress(IsADirectoryError):  # not ours: the step is not kept
                rename(self._folder / f"{self._key}-{_slug(step)}-{checksum(unnamed)}.npz")

    def remove(self, others: bool = False) -> None:
        """Remove the steps of this training, or of others."""
        with _said_to_be_unwritable(self._folder):
            steps = [path for path, name in _steps(self._folder) if (name["key"] != self._key) == others]
            for path in (*steps, *self._folder.glob(f"{_TEMPORARY}*")):
                with suppress(IsADirectoryError):  # not ours
                    path.unlink(missing_ok=True)


@contextmanager
def open_checkpoints(folder: Path, key: str) -> Iterator[CheckpointFiles]:
    """Keep the steps of a training. The caller makes sure that no other process trains the same model.

    Steps of other data or options, whose `fingerprint` is another key, are removed: they belong to a training that will
    not be continued. The folder is created if missing, and removed at the end if empty. ModelError where it cannot be
    made or written to.
    """
    with signals.finally_call(lambda: _remove_if_empty(folder)):
        # Not after a signal has removed it, in the moment until the process ends.
        with _said_to_be_unwritable(folder), signals.unbroken():
            folder.mkdir(exist_ok=True)
        steps = CheckpointFiles(folder, key)
        steps.remove(others=True)
        yield steps


def _steps(folder: Path) -> Iterator[tuple[Path, re.Match[str]]]:
    for path in sorted(folder.iterdir()):
        if name := _STEP_NAME.fullmatch(path.name):
            yield path, name


def _slug(step: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", step.lower())


def _read(path: Path, expected: str) -> Checkpoint | None:
    with suppress(OSError, ValueError):  # it is taken again
        if checksum(path) == expected:
            with np.load(path, allow_pickle=False) as arrays:
                return dict(arrays)
    with suppress(OSError):
        path.unlink()
    return None


@contextmanager
def _said_to_be_unwritable(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ModelError(
            f"{folder}: cannot be written: {error.strerror}; mend that, or train without --resume"
        ) from error


def _remove_if_empty(folder: Path) -> None:
    with suppress(OSError):
        folder.rmdir()
