"""A lock file, held by one process at a time. The system releases it when that process ends, however it ends."""

import fcntl
import os
import socket
from datetime import UTC, datetime
from pathlib import Path

from mpu_cli.runtime.files import open_regular


def try_lock(path: Path) -> int | None:
    """Lock a file, created if missing, and write into it who holds it.

    Parameters
    ----------
    path : Path
        In an existing directory.

    Returns
    -------
    int or None
        A file descriptor. Closing it, or the end of the process, releases the lock. Remove the file before that.
        None if another process has the lock.

    Raises
    ------
    FileNotFoundError
        The directory or the file was removed in the meantime.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
    try:
        if not _flock(descriptor):
            os.close(descriptor)
            return None
        # The holder removes the file before it lets go: then this is the lock of a file that nobody else will find.
        if not is_lock(path, descriptor):
            raise FileNotFoundError(path)
        os.ftruncate(descriptor, 0)
        os.write(descriptor, _description().encode())
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def is_lock(path: Path, descriptor: int) -> bool:
    """Whether a path still leads to the locked file. It may have been moved or removed since."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except (FileNotFoundError, NotADirectoryError):
        return False


def holder(path: Path) -> str:
    """Return who holds a lock, according to the file."""
    try:
        with open_regular(path) as file:
            text = file.read(200).decode(errors="replace").strip()
    except (OSError, ValueError):
        text = ""
    return text if text and text.isprintable() else "another process"


def _flock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):  # the latter from some network file systems
        return False
    except OSError:
        pass  # others have no locks
    return True


def _description() -> str:
    since = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    return f"process {os.getpid()} on {socket.gethostname()} since {since}\n"
