"""A history of trainings: a file to which each adds a line, a JSON object.

A line is added as a whole, at the end, whichever trainings add theirs at the same time. What a full disk or a power
failure has cut short stays a line of its own, which a reader reports.
"""

import fcntl
import json
import os
from pathlib import Path
from typing import Any

from mpu_cli.errors import InputError, MpuError
from mpu_cli.runtime.json_text import json_value

# What is drawn and listed, by the names that `mpu train --json` gives it.
NUMBERS = ("c", "expected_micro_f1", "instances", "features", "labels", "annotations", "seconds")


def refuse_unappendable(path: Path) -> None:
    """Refuse a file to which nothing can be added, before any training; it is not made yet."""
    place = path if path.exists() else path.parent
    if path.is_dir():
        raise MpuError(f"{path}: is a directory; name a file for --history")
    if not os.access(place, os.W_OK):
        raise MpuError(f"{path}: cannot be written; name another file for --history")


def append(path: Path, entry: dict[str, Any]) -> None:
    """Add a line.

    Raises
    ------
    MpuError
        It cannot be written, or only in part.
    """
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
        finally:
            os.close(file)
    except OSError as error:
        raise MpuError(f"{path}: the training is saved, but not in the history: {error.strerror}") from error


def read(path: Path) -> list[dict[str, Any]]:
    """Return the trainings of a history, in the order of the file.

    Raises
    ------
    InputError
        The file cannot be read, a line is no such object, or there is none.
    """
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise InputError(str(path), None, f"cannot be read: {error.strerror}") from error
    found = [_entry(str(path), number, line) for number, line in enumerate(lines, 1) if line.strip()]
    if not found:
        raise InputError(str(path), None, "has no training; mpu train --history adds one")
    return found


def _entry(path: str, number: int, line: bytes) -> dict[str, Any]:
    try:
        entry = json_value(line)
    except ValueError:
        entry = None
    if not isinstance(entry, dict) or not isinstance(entry.get("time"), str):
        raise InputError(path, number, "is no training, as mpu train --history writes it; remove this line")
    for name in NUMBERS:
        value = entry.get(name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise InputError(path, number, f"{name} is {value!r}, and no number; remove this line")
    return entry
