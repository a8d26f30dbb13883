"""Ctrl-C, SIGTERM and SIGHUP: what is unfinished is removed, one line is said, and the process ends at once.

The signals are blocked in every thread but one, which waits for them. So no exception strikes in the middle of
anything, a long computation in compiled code delays nothing, and worker threads need not be asked to stop.
"""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from pathlib import Path
from types import FrameType

_WORDS = {int(signal.SIGHUP): "hung up", int(signal.SIGINT): "interrupted", int(signal.SIGTERM): "terminated"}
# Held for good by the thread that ends the process, so that nothing comes after it.
_lock = threading.RLock()
_cleanups: list[Callable[[], None]] = []
_watching = False


def _plain(text: str) -> None:
    os.write(2, text.encode() + b"\n")


_say: Callable[[str], None] = _plain


def watch() -> None:
    """Wait for the signals, but for those that are ignored, in a thread. To be called before any other is started."""
    global _watching
    _watching = True
    heeded = {number for number in _WORDS if signal.getsignal(number) is not signal.SIG_IGN}  # `&` has SIGINT ignored
    signal.pthread_sigmask(signal.SIG_BLOCK, heeded)
    waiting = threading.Thread(target=_wait_for_any, args=(heeded,), daemon=True)
    waiting.start()

    def hand_over(number: int, _frame: FrameType | None) -> None:
        assert waiting.ident is not None  # since it has been started
        signal.pthread_kill(waiting.ident, number)

    for number in heeded:
        signal.signal(number, hand_over)  # `multiprocessing` unblocks them when it starts its first process


def say_by(say: Callable[[str], None]) -> None:
    """Say the last line by another function, which must not wait for anything that another thread may hold."""
    global _say
    _say = say


def too_late() -> None:
    """Let no signal end the process from now on, since it is about to end; one that has come has ended it."""
    if _watching:
        _lock.acquire()


def unbroken() -> AbstractContextManager:
    """Put off a signal to the end of a ``with`` block, in which files get the names that others know them by."""
    return _lock


@contextmanager
def finally_call(cleanup: Callable[[], None]) -> Iterator[None]:
    """Call a function at the end of the ``with`` block, also when a signal ends the process within it."""
    with _lock:
        _cleanups.append(cleanup)
    try:
        yield
    finally:
        with _lock:
            _cleanups.remove(cleanup)
            cleanup()


@contextmanager
def temporary(path: Path) -> Iterator[Callable[[Path], None]]:
    """Remove a file at the end of the ``with`` block that makes it, unless it has got its final name.

    Yields
    ------
    callable
        Gives the finished file its final name, replacing what has it.
    """

    def rename(target: Path) -> None:
        with _lock:
            path.replace(target)

    with finally_call(lambda: path.unlink(missing_ok=True)):
        yield rename


def _wait_for_any(heeded: set[int]) -> None:
    _end(signal.sigwait(heeded))


def _end(number: int) -> None:
    _lock.acquire()
    last_deeds: list[Callable[[], None]] = [*reversed(_cleanups), partial(_say, _WORDS[number])]
    for last_deed in last_deeds:
        with suppress(Exception):  # the others have to come too, and the end: who reads what is said may be gone
            last_deed()
    os._exit(128 + number)
