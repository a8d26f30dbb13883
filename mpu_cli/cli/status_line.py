"""A status line at the bottom of the terminal, which is not part of the output."""

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from mpu_cli.errors import one_line

# To the beginning of the line, and delete all of it.
CLEARING = "\r\x1b[2K"
_USUAL_WIDTH = 80


class StatusLine:
    """One line on standard error, in the width of the terminal. Threads may use it at the same time."""

    def __init__(self) -> None:
        self.shown = False
        self._lock = threading.RLock()

    def show(self, done: list[str], text: str) -> None:
        """Draw the latest finished phases, as many as fit, and a text after them."""
        width = _width() - 1  # in the last column, some terminals begin a new line
        line = one_line(text)[:width]
        mentioned: list[str] = []
        for number, one in reversed(list(enumerate(done))):
            longer = f"{'... ' * bool(number)}{one_line(', '.join([one, *mentioned]))} | {one_line(text)}"
            if len(longer) > width:
                break
            line, mentioned = longer, [one, *mentioned]
        with self._lock:
            self._write(f"{CLEARING}{line}")
            self.shown = True

    def clear(self) -> None:
        """Remove the line."""
        with self._lock:
            if self.shown:
                self._write(CLEARING)
                self.shown = False

    @contextmanager
    def removed(self) -> Iterator[None]:
        """Remove the line for the context, to print something else."""
        with self._lock:
            self.clear()
            yield

    def _write(self, text: str) -> None:
        with suppress(OSError, ValueError, AttributeError):  # full, closed, or none: progress is not worth an error
            sys.stderr.write(text)
            sys.stderr.flush()


def _width() -> int:
    try:
        return os.get_terminal_size(2).columns or _USUAL_WIDTH
    except OSError:
        return _USUAL_WIDTH


status_line = StatusLine()
