"""The progress of a command: on a terminal one line, removed at the end; elsewhere a line for each phase."""

import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext

from mpu_cli.cli import messages
from mpu_cli.cli.messages import status_line
from mpu_cli.errors import counted
from mpu_cli.runtime.steps import Step

_STEPS = {str(step): step for step in Step}
_LEVEL = re.compile(r"level (\d+)(, out of fold)?")
# Before this, the time left is a guess.
_SECONDS_TO_GUESS = 1.0
# Shorter phases are not mentioned.
_SECONDS_TO_MENTION = 1.0
_SECONDS_BETWEEN_DRAWINGS = 0.2
_SECONDS_BETWEEN_LINES = 60.0


def name_of(step: str) -> str:
    """Return the name of a step in messages."""
    if level := _LEVEL.fullmatch(step):
        number = int(level[1]) + 1
        return f"predicting level {number} out of fold" if level[2] else f"learning level {number}"
    return _STEPS[step].doing if step in _STEPS else step


def by_name(seconds: Mapping[str, float]) -> dict[str, float]:
    """Return the time of each step of the library by its name in messages; two steps may share one."""
    named: dict[str, float] = {}
    for step, time_of_step in seconds.items():
        named[name_of(step)] = named.get(name_of(step), 0.0) + time_of_step
    return named


class Phase:
    """A phase of work in progress.

    `total`: amount of work; None: unknown.
    `noun`: unit of the count without a total, in the singular.
    """

    def __init__(self, name: str, total: int | None, noun: str = "step") -> None:
        self.name, self.total, self.noun = name, total, noun
        self.done = self.ticks = 0
        self.start = time.monotonic()
        self._lock = threading.Lock()

    def advance(self, by: int = 1) -> None:
        """Count finished work. Threads may count at the same time."""
        with self._lock:
            self.done += by
            self.ticks += 1

    def seconds(self) -> float:
        """Return the time since its start."""
        return time.monotonic() - self.start

    def seconds_left(self) -> float | None:
        """Return an estimate of the time left; None if there is none."""
        return self.seconds() * (max(self.total / self.done, 1) - 1) if self.total and self.done else None

    def __str__(self) -> str:
        seconds, left = self.seconds(), self.seconds_left()
        if self.total and left is not None:
            time_left = f"about {clock(left)} left" if seconds > _SECONDS_TO_GUESS and left else clock(seconds)
            return f"{self.name}: {min(self.done / self.total, 1):.0%}, {time_left}"
        count = f"{counted(self.done, self.noun)}, " * bool(self.done)
        return f"{self.name}: {count}{clock(seconds)}"


class _Line:
    """Draws the phases of this process on the line: the finished ones, folded, and those under way."""

    def __init__(self) -> None:
        self.finished: list[str] = []
        self.under_way: list[Phase] = []

    def draw(self) -> None:
        """Draw the line again; nothing without a phase in progress."""
        if phases := list(self.under_way):
            status_line.show(self.finished, str(phases[-1]))

    def draw_until(self, end: threading.Event) -> None:
        """Draw it at intervals, since the time changes without any count."""
        self.draw()
        while not end.wait(_SECONDS_BETWEEN_DRAWINGS):
            self.draw()

    @contextmanager
    def phase(self, phase: Phase) -> Iterator[None]:
        """Show a phase as long as the context lasts."""
        end = threading.Event()
        drawing = threading.Thread(target=self.draw_until, args=(end,), daemon=True)
        self.under_way.append(phase)
        drawing.start()
        try:
            yield
        finally:
            end.set()
            drawing.join()
            self.under_way.remove(phase)
            if phase.seconds() >= _SECONDS_TO_MENTION:
                self.finished.append(f"{phase.name} {clock(phase.seconds())}")
            status_line.clear()


_line = _Line()


def _drawn(phase: Phase) -> AbstractContextManager[None]:
    """Show a phase on a terminal; elsewhere nothing."""
    return _line.phase(phase) if messages.on_terminal() and not messages.is_quiet() else nullcontext()


def _has_lines() -> bool:
    """Whether progress is printed as lines, for want of a terminal."""
    return not messages.is_quiet() and not messages.on_terminal()


@contextmanager
def progress(step: str, ticks: int | None = None) -> Iterator[Callable[[], None]]:
    """Show the progress of a step: on a terminal while it lasts, otherwise a line at its end.

    `step`: name of the step in the library.
    `ticks`: number of ticks; None: unknown.
    Yields: call it once per tick.
    """
    phase = Phase(name_of(step), ticks, _STEPS[step].unit if step in _STEPS else "step")
    with _drawn(phase):
        yield phase.advance
    if _has_lines():
        messages.finished(phase.name, phase.ticks, phase.seconds())


@contextmanager
def counting(
    name: str, total: int | None = None, noun: str = "step", say: Callable[[Phase], None] | None = None
) -> Iterator[Callable[[int], None]]:
    """Show the count of finished work on a terminal; elsewhere call `say`, if any, once a minute and at the end.

    Yields: call it with the amount of newly finished work.
    """
    phase = Phase(name, total, noun)
    said = phase.start

    def count(by: int) -> None:
        nonlocal said
        phase.advance(by)
        now = time.monotonic()
        if say is not None and _has_lines() and (phase.done == total or now - said >= _SECONDS_BETWEEN_LINES):
            said = now
            say(phase)

    with _drawn(phase):
        yield count


def clock(seconds: float) -> str:
    """Return a time as text: ``0:07``, ``1:02:03``."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
