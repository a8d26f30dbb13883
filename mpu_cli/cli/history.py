"""A history of trainings: ``mpu train --history`` adds a line to a file, ``mpu info --history`` lists and draws them.

A line is a JSON object. It is added as a whole, at the end, whichever trainings add theirs at the same time. What a
full disk or a power failure has cut short stays a line of its own, which a reader reports. Its figure needs matplotlib
(extra ``plot``).
"""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from mpu_cli.errors import InputError, MpuError, without_secrets
from mpu_cli.runtime.figures import image, new_figure
from mpu_cli.runtime.report import as_json
from mpu_cli.runtime.untrusted import json_value
from mpu_cli.svmlight.streams import compression_named, open_output

# What is drawn and listed, by the names that `mpu train --json` gives it.
NUMBERS = ("c", "expected_micro_f1", "instances", "features", "labels", "annotations", "seconds")
# Further values of trainings that were compared on a test set.
TESTED = ("test_value", "unknown_features", "labels_per_instance", "labels_expected")


def refuse_unappendable(path: Path) -> None:
    """Refuse a file to which nothing can be added, before any training; it is not made yet."""
    try:
        path.stat()
        place = path
    except FileNotFoundError:
        place = path.parent
    if path.is_dir():
        raise MpuError(f"{path}: is a directory; name a file for --history")
    if suffix := compression_named(path):
        raise MpuError(f"{path}: lines are appended to a history, so it cannot be compressed; name it without {suffix}")
    if not os.access(place, os.W_OK):
        raise MpuError(f"{path}: cannot be written; name another file for --history")


def append(path: Path, entry: dict[str, Any]) -> None:
    """Add a line, as a whole or not at all."""
    line = json.dumps(entry, allow_nan=False).encode() + b"\n"
    try:
        file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            size = os.fstat(file).st_size
            if size and os.pread(file, 1, size - 1) != b"\n":
                line = b"\n" + line
            if os.write(file, line) != len(line):
                os.ftruncate(file, size)
                raise OSError(28, "No space left on device")
            os.fsync(file)
        finally:
            os.close(file)
    except OSError as error:
        raise MpuError(f"{path}: the model is saved, but the history could not be written: {error.strerror}") from error


@contextmanager
def with_failures(path: Path, names: dict[str, Any]) -> Iterator[None]:
    """Add a line with the error that ends the context, if any: `names` are its time, model and file."""
    try:
        yield
    except (MpuError, OSError, MemoryError) as error:
        with suppress(MpuError):  # the first error is told
            append(path, as_json(names) | {"error": without_secrets(str(error)) or "out of memory"})
        raise


def read(path: Path) -> list[dict[str, Any]]:
    """Return the trainings of a history, in the order of the file."""
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise InputError(str(path), None, f"cannot be read: {error.strerror}") from error
    entries = [_entry(str(path), number, line) for number, line in enumerate(lines, 1) if line.strip()]
    if not entries:
        raise InputError(str(path), None, "contains no training; mpu train --history adds one")
    return entries


def tested(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the trainings whose models were compared on test data: `mpu train --accept-on`."""
    return [entry for entry in entries if "test_value" in entry]


def _entry(path: str, number: int, line: bytes) -> dict[str, Any]:
    try:
        entry = json_value(line, strict=True)
    except ValueError:
        entry = None
    if not isinstance(entry, dict) or not isinstance(entry.get("time"), str):
        raise InputError(path, number, "is not a line of mpu train --history; remove it")
    for name in (*NUMBERS, *TESTED):
        value = entry.get(name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise InputError(path, number, f"{name} is {value!r}, not a number; remove this line")
    return entry


_INCHES = (11, 8)  # of two rows
_PANELS = (
    ("label frequency c", ("c",), (0, 1)),
    ("micro-F1 to expect on complete labels", ("expected_micro_f1",), (0, 1)),
    ("counts", ("instances", "annotations", "features", "labels"), None),
    ("seconds of training", ("seconds",), None),
)
_TESTED_PANELS = (
    ("quality on the test data", ("test_value", "rejected"), (0, 1)),
    ("labels of an instance", ("labels_per_instance", "labels_expected"), None),
    ("share of unknown features in the test data", ("unknown_features",), None),
    ("number of warnings", ("n_warnings",), None),
)
_MARKERS = "os^D"


def draw(path: Path, entries: list[dict[str, Any]], target: Path) -> None:
    """Draw c, expected F1, counts and time over the trainings of a history, and what was measured on test data.

    `target` is a .png, .svg or .pdf, written as a whole or not at all; `path` is for messages.
    """
    panels = _PANELS + (_TESTED_PANELS if tested(entries) else ())
    n_rows = len(panels) // 2
    width, height = _INCHES
    figure = new_figure(width, height * n_rows / 2)
    try:
        times = [datetime.fromisoformat(entry["time"]) for entry in entries]
    except ValueError as error:
        raise InputError(str(path), None, f"a time is none: {error}") from None
    entries = [_drawn(entry) for entry in entries]
    for axes, (title, names, limits) in zip(figure.subplots(n_rows, 2).flat, panels, strict=True):
        _panel(axes, times, entries, names)
        axes.set(title=title, ylim=limits if limits else (0, None))
    drawn = image(figure, target.suffix[1:])
    with open_output(target) as out:
        out.write(drawn)


def _drawn(entry: dict[str, Any]) -> dict[str, Any]:
    """Return a line with numbers for what has none."""
    rejected = entry.get("test_value") if entry.get("accepted") is False else None
    return {**entry, "rejected": rejected, "n_warnings": len(entry.get("warnings") or ())}


def _panel(axes: Any, times: list[datetime], entries: list[dict[str, Any]], names: tuple[str, ...]) -> None:
    for marker, name in zip(_MARKERS, names, strict=False):
        points = [
            (time, entry[name]) for time, entry in zip(times, entries, strict=True) if entry.get(name) is not None
        ]
        if points:
            lines = "" if name == "rejected" else "-"
            axes.plot(*zip(*points, strict=True), marker=marker, linestyle=lines, label=name.replace("_", " "))
    ends = [bound for entry in entries for bound in (entry.get("c_interval") or ())]
    if names == ("c",) and len(ends) == 2 * len(entries):
        axes.fill_between(times, ends[::2], ends[1::2], alpha=0.2, label="90 % interval, of sampling")
    if len(axes.get_legend_handles_labels()[1]) > 1:
        axes.legend()
        if "instances" in names:
            axes.set_yscale("symlog", linthresh=1)
    axes.grid(alpha=0.3)
    axes.tick_params("x", rotation=30)
