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

NO_THREAD = "can't start new thread"  # Python's message
LIMIT_OF_THREADS = "the system cannot start more threads: the process limit is reached (ulimit -u); use fewer --jobs"
_WORDS = {int(signal.SIGHUP): "hung up", int(signal.SIGINT): "interrupted", int(signal.SIGTERM): "terminated"}
# Delays signals until the end of a ``with`` block, for example while several files get their final names. The thread
# that ends the process holds it forever, so that nothing happens afterwards.
unbroken = threading.RLock()
_cleanups: list[Callable[[], None]] = []
_askings: list[Callable[[], None]] = []
_watching = False
ending: str | None = None  # why the process ends, as printed, while a signal ends it


def _plain(text: str) -> None:
    os.write(2, text.encode() + b"\n")


# Prints the last line. Must not wait for a lock that another thread may hold.
say: Callable[[str], None] = _plain


def watch() -> None:
    """Wait in a thread for the signals that are not ignored. Call this before starting any other thread."""
    global _watching
    _watching = True
    heeded = {number for number in _WORDS if signal.getsignal(number) is not signal.SIG_IGN}  # `&` ignores SIGINT
    signal.pthread_sigmask(signal.SIG_BLOCK, heeded)
    waiting = threading.Thread(target=_wait_for_any, args=(heeded,), daemon=True)
    waiting.start()

    def hand_over(number: int, _frame: FrameType | None) -> None:
        assert waiting.ident is not None  # it has been started
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
    """Call a function, in the thread that waits for signals, at the first signal within the ``with`` block."""
    _askings.append(ask)
    try:
        yield
    finally:
        _askings.clear()


def _wait_for_any(heeded: set[int]) -> None:
    global ending
    number = signal.sigwait(heeded)
    if _askings:
        _askings.pop()()
        number = signal.sigwait(heeded)
    unbroken.acquire()
    ending = _WORDS[number]
    last_deeds: list[Callable[[], None]] = [*reversed(_cleanups), partial(say, ending)]
    for last_deed in last_deeds:
        with suppress(Exception):  # the others must run too, and the exit: the reader of stderr may be gone
            last_deed()
    os._exit(128 + number)
