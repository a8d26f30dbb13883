"""Versions of a model: directories ``MODEL.versions/NUMBER``, each a whole model, beside the one in use.

A version appears and disappears by a rename, and is never changed. Who adds or removes one has the lock of the model
(`Writer.held`). The version in use shares its files with the model by hard links, so it takes no room of its own.
"""

import re
import secrets
import shutil
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from mpu_cli.bundle.loading import TrainedModel
from mpu_cli.bundle.manifest import MANIFEST
from mpu_cli.bundle.writing import directory_to_disk, save
from mpu_cli.errors import ModelError
from mpu_cli.runtime import signals
from mpu_cli.runtime.files import open_regular

_TEMPORARY = ".mpu-"
_NUMBER = re.compile(r"[1-9][0-9]{0,8}")


@dataclass(frozen=True)
class Versions:
    """The versions of a model."""

    folder: Path

    @classmethod
    def of(cls, model: Path) -> "Versions":
        """Return those of a model: of news.mpu in news.mpu.versions. All links to a model lead to the same."""
        real = model.resolve()
        return cls(real.with_name(f"{real.name}.versions"))

    def numbers(self) -> list[int]:
        """Return the numbers of all versions, ascending."""
        with suppress(FileNotFoundError):
            return sorted(int(entry.name) for entry in self.folder.iterdir() if _NUMBER.fullmatch(entry.name))
        return []

    def path(self, number: int) -> Path:
        """Return the directory of a version."""
        return self.folder / str(number)

    def number_of(self, model: Path) -> int | None:
        """Return the last version that is the same model as one in a directory; None if there is none."""
        manifest = manifest_of(model)
        same = [n for n in self.numbers() if manifest is not None and manifest_of(self.path(n)) == manifest]
        return max(same, default=None)

    def add(self, model: TrainedModel | Path, after: int = 0) -> int:
        """Add a version: a new model, or the one in a directory.

        Parameters
        ----------
        after : int
            The new version gets a higher number than this one and all others.

        Returns
        -------
        int
            Its number; that of a version which is the same model, if there is one.

        Raises
        ------
        ModelError
            It cannot be written.
        """
        temporary = self._unused()
        with signals.finally_call(partial(self._clear, temporary)):
            try:
                self.folder.mkdir(exist_ok=True)
                save(model, temporary)
                if (same := self.number_of(temporary)) is not None:
                    return same
                number = max(after, *self.numbers(), 0) + 1
                temporary.rename(self.path(number))
                directory_to_disk(self.folder)
            except OSError as error:
                raise ModelError(f"{self.folder}: cannot be written: {error.strerror}") from error
        return number

    def remove(self, numbers: Iterable[int]) -> None:
        """Remove versions, and what killed processes have left; what cannot be removed now goes the next time."""
        with suppress(OSError):
            for number in numbers:
                self.path(number).rename(self._unused())
        for leftover in self.folder.glob(f"{_TEMPORARY}*"):
            shutil.rmtree(leftover, ignore_errors=True)

    def _unused(self) -> Path:
        return self.folder / f"{_TEMPORARY}{secrets.token_hex(8)}"

    def _clear(self, temporary: Path) -> None:
        shutil.rmtree(temporary, ignore_errors=True)
        with suppress(OSError):
            self.folder.rmdir()  # if it is empty


def manifest_of(model: Path) -> bytes | None:
    """Return the manifest of a model, by which two are the same; None if there is none."""
    with suppress(OSError, ValueError), open_regular(model / MANIFEST) as file:
        return file.read()
    return None
