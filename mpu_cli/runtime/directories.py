"""Directories that are replaced as a whole."""

import errno
import fcntl
import hashlib
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from mpu_cli.runtime import signals

_TEMPORARY = ".mpu-"
_LOCK = "lock"
_AT_ONCE = os.O_RDWR | os.O_CREAT | os.O_NONBLOCK  # also where somebody has put a pipe


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
    locks: list[BinaryIO] = []
    made: list[Path] = []

    def clear() -> None:
        for folder in made:
            shutil.rmtree(folder, ignore_errors=True)
        for lock in locks:
            lock.close()

    def replace() -> None:
        with signals.unbroken():
            while True:
                with suppress(FileNotFoundError):
                    path.rename(work / f"old-{secrets.token_hex(8)}")
                try:
                    (work / "new").rename(path)
                    return
                except OSError as error:
                    if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):  # another process has just put its own there
                        raise

    with signals.finally_call(clear):
        while not made or not _locked(made[-1], locks):
            with signals.unbroken():
                made.append(path.with_name(f"{prefix}{secrets.token_hex(8)}"))
                made[-1].mkdir()
        work = made[-1]
        (work / "new").mkdir()
        yield work / "new", replace


def _locked(folder: Path, locks: list[BinaryIO]) -> bool:
    """Lock a directory that was just made; False where another process has taken it for a leftover, and removed it."""
    try:
        lock = (folder / _LOCK).open("xb")
    except (FileNotFoundError, FileExistsError):
        return False
    locks.append(lock)
    with suppress(OSError):  # the file system has no locks, and no process removes what it cannot lock
        fcntl.flock(lock, fcntl.LOCK_EX)
    return bool(os.fstat(lock.fileno()).st_nlink)


def _remove_leftovers(folder: Path, prefix: str) -> None:
    """Remove what killed processes have left: the directories whose lock nobody has."""
    for path in folder.glob(f"{prefix}*"):
        with suppress(OSError), os.fdopen(os.open(path / _LOCK, _AT_ONCE, 0o666), "ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path, ignore_errors=True)
