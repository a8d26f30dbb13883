"""Files of trainings: a history, and the versions of a model with what was decided about each: ``mpu versions``.

A training adds a line to a history, a JSON object. A line is added as a whole, at the end, whichever trainings add
theirs at the same time. What a full disk or a power failure has cut short stays a line of its own, which a reader
reports. Its figure needs matplotlib (extra ``plot``).

Decisions are the lines of a history beside the versions. A line is added before the model changes: after a kill in
between, a version that was accepted is there and not in use.
"""

import fcntl
import json
import os
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from mpu_cli import bundle
from mpu_cli.bundle import TrainedModel, Versions, Writer, provenance
from mpu_cli.errors import InputError, ModelError, MpuError
from mpu_cli.runtime.figures import image, new_figure
from mpu_cli.runtime.report import Count
from mpu_cli.runtime.untrusted import json_value
from mpu_cli.svmlight.streams import open_output

# What is drawn and listed, by the names that `mpu train --json` gives it.
NUMBERS = ("c", "expected_micro_f1", "instances", "features", "labels", "annotations", "seconds")
# Further values of trainings that were compared on a test set.
TESTED = ("test_value", "unknown_features", "labels_per_instance", "labels_expected")


def refuse_unappendable(path: Path) -> None:
    """Refuse a file to which nothing can be added, before any training; it is not made yet."""
    place = path if path.exists() else path.parent
    if path.is_dir():
        raise MpuError(f"{path}: is a directory; name a file for --history")
    if not os.access(place, os.W_OK):
        raise MpuError(f"{path}: cannot be written; name another file for --history")


def append(path: Path, entry: dict[str, Any], done: str = "the training is saved, but not in the history") -> None:
    """Add a line; where it cannot be written, or only in part, MpuError says what has been done and what not."""
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
        raise MpuError(f"{path}: {done}: {error.strerror}") from error


def read(path: Path) -> list[dict[str, Any]]:
    """Return the trainings of a history, in the order of the file.

    Raises InputError (the file cannot be read, a line is no such object, or there is none).
    """
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise InputError(str(path), None, f"cannot be read: {error.strerror}") from error
    entries = [_entry(str(path), number, line) for number, line in enumerate(lines, 1) if line.strip()]
    # Others are of restored versions.
    entries = [entry for entry in entries if "version" not in entry or "method" in entry]
    if not entries:
        raise InputError(str(path), None, "has no training; mpu train --history adds one")
    return entries


def readable(path: Path) -> list[dict[str, Any]]:
    """Return the trainings of the lines that are whole; there may be none, and no file."""
    entries = []
    with suppress(OSError):
        for number, line in enumerate(path.read_bytes().splitlines(), 1):
            with suppress(InputError):
                entries.append(_entry(str(path), number, line))
    return entries


def tested(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the trainings whose models were compared on test data: `mpu train --accept-on`."""
    return [entry for entry in entries if "test_value" in entry]


def _entry(path: str, number: int, line: bytes) -> dict[str, Any]:
    try:
        entry = json_value(line)
    except ValueError:
        entry = None
    if not isinstance(entry, dict) or not isinstance(entry.get("time"), str):
        raise InputError(path, number, "is no training, as mpu train --history writes it; remove this line")
    for name in (*NUMBERS, *TESTED, "version"):
        value = entry.get(name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise InputError(path, number, f"{name} is {value!r}, and no number; remove this line")
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

    Raises MpuError (matplotlib is not installed, or the file cannot be written), InputError (a time is none).
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


HISTORY = "history.jsonl"
_UNWRITTEN = "the model stays, since this cannot be written"


@dataclass(frozen=True)
class Record:
    """The versions of a model, with their history. It is read once, so it is for one command.

    `entries`: the lines of the history, oldest first. Those about a version have its number as ``version``; a line
    about a version that was put back has ``restored`` too.
    """

    model: Path
    versions: Versions
    entries: list[dict[str, Any]]

    @classmethod
    def of(cls, model: Path) -> "Record":
        """Read the versions of a model. Damaged lines are left out."""
        versions = Versions.of(model)
        return cls(model, versions, readable(versions.folder / HISTORY))

    @cached_property
    def kept(self) -> list[int]:
        """The versions that are there, ascending."""
        return self.versions.numbers()

    @cached_property
    def in_use(self) -> int | None:
        """The version that is the model itself; None if that is none of them."""
        return self.versions.number_of(self.model)

    @cached_property
    def line(self) -> list[int]:
        """The versions that are there and led to the present one. Who puts one back withdraws those after it."""
        order: list[int] = []
        for entry in self.entries:
            number = entry.get("version")
            if number in order and entry.get("restored"):
                del order[order.index(number) + 1 :]
            elif number is not None:
                order = [*(other for other in order if other != number), number]
        return [number for number in order if number in self.kept]

    def before(self) -> list[int]:
        """Return the versions that led to the model, without itself."""
        return self.line[: self.line.index(self.in_use)] if self.in_use in self.line else self.line

    def add(self, model: TrainedModel | Path, entry: dict[str, Any]) -> int:
        """Keep a model as a version, and add the line about it. Return its number."""
        number = self.versions.add(model, after=max((entry.get("version") or 0 for entry in self.entries), default=0))
        try:
            self.note({**entry, "version": number})
        except MpuError:
            self.versions.remove({number} - set(self.kept))
            raise
        return number

    def put(self, write: Writer, model: TrainedModel, entry: dict[str, Any], keep: int) -> int:
        """Put a new model in the place of the present one, as a version with its line; return its number.

        The writer has the lock of the model. `keep` versions before it are kept.
        """
        self.keep_present()
        number = self.add(model, entry)
        write(self.versions.path(number))
        self.prune(keep)
        return number

    def note(self, entry: dict[str, Any]) -> None:
        """Add a line."""
        self.versions.folder.mkdir(exist_ok=True)
        append(self.versions.folder / HISTORY, entry, _UNWRITTEN)

    def keep_present(self) -> None:
        """Make a version of the model, if it is none yet: one that was trained otherwise. Not of a damaged one."""
        if self.in_use is None and _is_whole(self.model):
            entry = {"time": provenance.now(), "model": str(self.model), "verdict": "in use before, and not tested"}
            self.add(self.model, entry)

    def prune(self, keep: int) -> None:
        """Remove all versions but the one in use and `keep` others: those that led to it first, then the latest."""
        now = Record.of(self.model)
        withdrawn = [number for number in now.kept if number not in now.line]
        others = [number for number in (*reversed(now.line), *reversed(withdrawn)) if number != now.in_use]
        now.versions.remove(others[keep:])


@dataclass(frozen=True, kw_only=True)
class VersionsReport:
    """The versions of a model."""

    model: str
    in_use: Count | None  #: The version that is the model itself; None where it is none of them, or missing.
    kept: list[Count]  #: The versions that are there.
    #: A line for each training that was tested and for each version that was put back; oldest first.
    versions: list[Annotated[dict[str, Any], ("$ref", "common.schema.json#/$defs/version_line")]]


def describe(model: Path) -> VersionsReport:
    """List the versions of a model, and those that were rejected.

    Raises ModelError (there are none).
    """
    record = Record.of(model)
    noted = {entry.get("version") for entry in record.entries}
    unknown: list[dict[str, Any]] = [{"version": number, "time": None} for number in record.kept if number not in noted]
    if not record.entries and not unknown:
        raise _without(model)
    return VersionsReport(
        model=str(model), in_use=record.in_use, kept=record.kept, versions=[*unknown, *record.entries]
    )


def restore(model: Path, version: int | None = None, wait: float = 0) -> int:
    """Put a version back in the place of the model, in one step. Return its number.

    The model is kept as a version too, if it is none yet.

    `version`: default: the one before the present one.
    `wait`: seconds to wait for a training of the model to end.
    Raises BusyError (a training is at work there), ModelError (there is no such version, it is damaged, or it cannot be
    written).
    """
    if not Versions.of(model).numbers():
        raise _without(model)
    with bundle.writer(model, wait) as write:
        record = Record.of(model)
        number = _chosen(record, version)
        bundle.load(record.versions.path(number))  # which checks every part of it
        record.keep_present()
        record.note({"time": provenance.now(), "model": str(model), "version": number, "restored": True})
        write(record.versions.path(number))
    return number


def _chosen(record: Record, version: int | None) -> int:
    before = record.before()
    if version is None and not before:
        raise ModelError(f"{record.model}: no version before the present one is kept; mpu versions lists all")
    if version is not None and version not in record.kept:
        kept = ", ".join(map(str, record.kept))
        raise ModelError(f"{record.model}: version {version} is not kept; those that are: {kept}")
    return before[-1] if version is None else version


def _is_whole(model: Path) -> bool:
    try:
        bundle.load(model)
    except ModelError:
        return False
    return True


def _without(model: Path) -> ModelError:
    return ModelError(f"{model}: has no versions; mpu train --accept-on keeps those that it accepts")
