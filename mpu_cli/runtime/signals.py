"""Ctrl-C, SIGTERM and SIGHUP: remove unfinished files, print one line, and end the process at once.

Within `asked_to_end`, the first signal asks the process to end, and the second one ends it.

The signals are blocked in all threads except one, which waits for them. So no exception interrupts other code, a long
computation in compiled code delays nothing, and worker threads need not be stopped.
"""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from types import FrameType

NO_THREAD = "can't start new thread"  # as Python says it
LIMIT_OF_THREADS = "the system cannot start more threads: the process limit is reached (ulimit -u); use fewer --jobs"
_WORDS = {int(signal.SIGHUP): "hung up", int(signal.SIGINT): "interrupted", int(signal.SIGTERM): "terminated"}
# Delays signals until the end of a ``with`` block, such as one in which several files get their final names. Held for
# good by the thread that ends the process, so that nothing comes after it.
unbroken = threading.RLock()
_cleanups: list[Callable[[], None]] = []
_askings: list[Callable[[], None]] = []
_watching = False


def _plain(text: str) -> None:
    os.write(2, text.encode() + b"\n")


# Prints the last line. It must not wait for a lock that another thread may hold.
say: Callable[[str], None] = _plain


def watch() -> None:
    """Wait in a thread for the signals that are not ignored. Call this before any other thread is started."""
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


def too_late() -> None:
    """Ignore signals from now on: the process is about to end."""
    if _watching:
        unbroken.acquire()


@contextmanager
def finally_call(cleanup: Callable[[], None]) -> Iterator[None]:
    """Call a function at the end of the ``with`` block, even if a signal ends the process within it."""
    with unbroken:
        _cleanups.append(cleanup)
    try:
        yield
    finally:
        with unbroken:
            _cleanups.remove(cleanup)
            cleanup()


@contextmanager
def asked_to_end(ask: Callable[[], None]) -> Iterator[None]:
    """Call a function, in a thread of its own, at the first signal that comes within the ``with`` block."""
    _askings.append(ask)
    try:
        yield
    finally:
        _askings.clear()


def _wait_for_any(heeded: set[int]) -> None:
    number = signal.sigwait(heeded)
    if _askings:
        _askings.pop()()
        number = signal.sigwait(heeded)
    unbroken.acquire()
    last_deeds: list[Callable[[], None]] = [*reversed(_cleanups), partial(say, _WORDS[number])]
    for last_deed in last_deeds:
        with suppress(Exception):  # the others have to come too, and the end: who reads what is said may be gone
            last_deed()
    os._exit(128 + number)
