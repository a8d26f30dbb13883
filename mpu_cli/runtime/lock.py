"""A file that one process at a time holds. The system lets go of it when that process ends, however it ends."""

import fcntl
import os
import socket
from datetime import UTC, datetime
from pathlib import Path


def try_lock(path: Path) -> int | None:
    """Lock a file, made if need be, and write into it who holds it.

    Parameters
    ----------
    path : Path
        In a directory that is there.

    Returns
    -------
    int or None
        A file descriptor: closing it, or the end of the process, lets go of the lock. The file is to be removed before.
        None where another process has the lock.

    Raises
    ------
    FileNotFoundError
        The directory, or the file, has been removed in between.
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
    """Whether a path still leads to the file that was locked, which may have been moved or removed since."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except (FileNotFoundError, NotADirectoryError):
        return False


def holder(path: Path) -> str:
    """Say who holds a lock, as far as the file tells."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")[:200].strip()
    except OSError:
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
