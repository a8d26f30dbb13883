"""Directories that are replaced as a whole."""

import hashlib
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mpu_cli.runtime import signals
from mpu_cli.runtime.lock import try_lock

_TEMPORARY = ".mpu-"
_LOCK = "lock"


@contextmanager
def replacing_directory(path: Path) -> Iterator[tuple[Path, Callable[[], None]]]:
    """Write a directory, which replaces the one of that name when it is complete.

    Parameters
    ----------
    path : Path
        In an existing directory. What is there now may be lost.

    Yields
    ------
    temporary : Path
        An empty directory beside `path`, for the files. It is removed at the end of the ``with`` block, and by the next
        run where this one is killed.
    replace : callable
        Gives it its final name. Nothing but renaming is left to do then.
    """
    name = hashlib.sha256(os.fsencode(path.name)).hexdigest()[:16]
    prefix = f"{_TEMPORARY}{name}-dir-"
    _remove_leftovers(path.parent, prefix)
    work = path.with_name(f"{prefix}{secrets.token_hex(8)}")
    held: list[int] = []

    def clear() -> None:
        shutil.rmtree(work, ignore_errors=True)
        for descriptor in held:
            os.close(descriptor)

    def replace() -> None:
        with signals.unbroken():
            if path.exists():
                path.rename(work / "old")
            (work / "new").rename(path)

    with signals.finally_call(clear):
        with signals.unbroken():
            work.mkdir()
            descriptor = try_lock(work / _LOCK)
            held.extend([] if descriptor is None else [descriptor])
        (work / "new").mkdir()
        yield work / "new", replace


def _remove_leftovers(folder: Path, prefix: str) -> None:
    """Remove what killed processes have left: the directories whose lock nobody has."""
    for path in folder.glob(f"{prefix}*"):
        with suppress(OSError):
            descriptor = try_lock(path / _LOCK)
            if descriptor is not None:
                shutil.rmtree(path, ignore_errors=True)
                os.close(descriptor)
