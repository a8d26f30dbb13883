"""Time and memory of a whole process, and micro-F1 of what it predicted.

Imports nothing large: Linux counts the memory of a process at its fork, which is ours, in the child's maximum.
"""

import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

SAMPLE_SECONDS = 0.02


class FailedError(Exception):
    """A process did not do its job; the message says why, in a line."""


@dataclass(frozen=True)
class Usage:
    """What a process used.

    Attributes
    ----------
    seconds : float
        From its start to its end.
    max_rss : int
        Largest resident memory of one process, in bytes. Files that are mapped into memory count.
    anonymous : int
        Largest anonymous memory (RssAnon) of the process and its descendants together, in bytes, sampled every
        `SAMPLE_SECONDS`; 0 where there is no /proc.
    cpu_seconds : float
        Processor time of the process and of the descendants that it waited for.
    """

    seconds: float
    max_rss: int
    anonymous: int
    cpu_seconds: float


def run(command: Sequence[str], timeout: float) -> Usage:
    """Run a process to its end.

    Parameters
    ----------
    command : sequence of str
    timeout : float
        Seconds after which it and its descendants are killed.

    Raises
    ------
    FailedError
        It cannot be started, takes too long, or ends with another status than 0.
    """
    with tempfile.TemporaryFile() as log:
        start = time.perf_counter()
        try:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        except OSError as error:
            raise FailedError(f"{command[0]}: {error.strerror}") from error
        watch = _Watch(process.pid, start + timeout)
        watch.start()
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        watch.stop()
        process.returncode = os.waitstatus_to_exitcode(status)  # Popen does not know that wait4 has waited
        if watch.timed_out:
            raise FailedError(f"took more than {timeout:g} s")
        if process.returncode:
            raise FailedError(_last_line(log) or f"status {process.returncode}")
    return Usage(seconds, used.ru_maxrss * 1024, watch.anonymous, used.ru_utime + used.ru_stime)


class _Watch(threading.Thread):
    """Samples the memory of a process, and kills it when its time is over."""

    def __init__(self, pid: int, deadline: float) -> None:
        super().__init__(daemon=True)
        self.anonymous = 0
        self.timed_out = False
        self._pid = pid
        self._deadline = deadline
        self._ended = threading.Event()

    def run(self) -> None:
        while not self._ended.wait(SAMPLE_SECONDS):
            self.anonymous = max(self.anonymous, sum(map(_anonymous, _family(self._pid))))
            if time.perf_counter() > self._deadline and not self.timed_out:
                self.timed_out = True
                with suppress(ProcessLookupError):
                    os.killpg(self._pid, signal.SIGKILL)

    def stop(self) -> None:
        self._ended.set()
        self.join()


def _family(pid: int) -> Iterator[int]:
    """Give a process and all of its descendants."""
    yield pid
    with suppress(OSError):  # it, or one of its threads, has just ended
        for children in Path(f"/proc/{pid}/task").glob("*/children"):
            for child in children.read_text().split():
                yield from _family(int(child))


def _anonymous(pid: int) -> int:
    """Anonymous resident memory of a process in bytes, 0 where it has ended."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) * 1024
    return 0


def _last_line(log: BinaryIO) -> str:
    log.seek(0)
    lines = log.read().decode(errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


def micro_f1(truth: Path, predictions: Path) -> float:
    """Micro-averaged F1 of a file of predicted label sets, a line ``label,label,...`` an instance.

    Parameters
    ----------
    truth : Path
        A LIBSVM file without comments.
    predictions : Path
        As many lines.

    Raises
    ------
    FailedError
        There are more lines in one than in the other.
    """
    hits = total = 0
    with truth.open("rb") as true_lines, predictions.open("rb") as predicted_lines:
        try:
            for true_line, predicted_line in zip(true_lines, predicted_lines, strict=True):
                true, predicted = (set(_labels(line)) for line in (true_line, predicted_line))
                hits += len(true & predicted)
                total += len(true) + len(predicted)
        except ValueError as error:
            raise FailedError("not as many predictions as instances") from error
    return 2 * hits / total if total else 0.0


def _labels(line: bytes) -> list[bytes]:
    """Labels at the beginning of a line; features, which have a colon, are left out."""
    first = line.split(b" ", 1)[0].strip()
    return first.split(b",") if first and b":" not in first else []
