"""The progress of a command: on a terminal a bar that is removed at the end; elsewhere, with -v, a line a step."""

import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext

from mpu_cli.cli import messages
from mpu_cli.runtime.files import reads_counted
from mpu_cli.runtime.progress import Bytes
from mpu_cli.runtime.run import Step

_STEPS = {str(step): step for step in Step}
_LEVEL = re.compile(r"level (\d+)(, out of fold)?")
_SECONDS_BEFORE_A_BAR = 0.5
_SECONDS_BETWEEN_DRAWINGS = 0.25
_WITH_TOTAL = "{desc}: {percentage:3.0f}%|{bar}| {elapsed}, {remaining} left"
_WITHOUT_TOTAL = "{desc}: {n_fmt}{unit}, {elapsed}"
_TIME_ALONE = "{desc}: {elapsed}"
_drawing = threading.Lock()  # one bar at a time: the outer one of two


# The steps of the command, in their order, as far as its options tell; others may come between them.
planned: list[str] = []


def name_of(step: str) -> str:
    """Return the name of a step in messages."""
    if level := _LEVEL.fullmatch(step):
        return f"predicting level {level[1]} out of fold" if level[2] else f"learning level {level[1]}"
    return _STEPS[step].doing if step in _STEPS else step


@contextmanager
def progress(step: str, ticks: int | None = None) -> Iterator[Callable[[], None]]:
    """Show the progress of a step of the library.

    `ticks`: number of ticks; None: unknown.
    Yields: call it once per tick.
    """
    start, done = time.monotonic(), 0

    def tick() -> None:
        nonlocal done
        done += 1
        count(1)

    number = f"step {planned.index(step) + 1} of {len(planned)}, " if step in planned else ""
    with counting(number + name_of(step), ticks, _STEPS[step].unit if step in _STEPS else "step") as count:
        yield tick
    if not messages.on_terminal():
        messages.finished(name_of(step), done, time.monotonic() - start)


@contextmanager
def counting(name: str, total: int | None = None, noun: str = "step") -> Iterator[Callable[[int], None]]:
    """Show a count of finished work on a terminal.

    `total`: amount of work; where it is `Bytes`, the work is to read so many from files; None: unknown.
    `noun`: unit of the count without a total, in the singular.
    Yields: call it with the amount of newly finished work.
    """
    if not messages.on_terminal() or messages.is_quiet() or not _drawing.acquire(blocking=False):
        yield lambda _: None
        return
    from tqdm import tqdm

    bar = tqdm(
        desc=name,
        total=total,
        unit=f" {noun}s",
        file=sys.stderr,
        leave=False,
        delay=_SECONDS_BEFORE_A_BAR,
        dynamic_ncols=True,
        miniters=0,
        smoothing=0,  # the time left is by the mean speed
        bar_format=_WITH_TOTAL if total else _TIME_ALONE,
    )
    end = threading.Event()

    def count(by: int) -> None:
        if not total:
            bar.bar_format = _WITHOUT_TOTAL
        elif bar.n + by > bar.total:  # it was an estimate
            bar.total = bar.n + by
        bar.update(by)

    def draw() -> None:  # since the time changes without any count
        end.wait(_SECONDS_BEFORE_A_BAR)
        while not end.wait(_SECONDS_BETWEEN_DRAWINGS):
            bar.update(0)

    drawing = threading.Thread(target=draw, daemon=True)
    drawing.start()
    try:
        with reads_counted(count) if isinstance(total, Bytes) else nullcontext():
            yield (lambda _: None) if isinstance(total, Bytes) else count
    finally:
        end.set()
        drawing.join()
        bar.close()
        _drawing.release()
