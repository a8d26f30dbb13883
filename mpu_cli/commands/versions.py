"""The versions of a model, with what was decided about each: ``mpu versions``.

Decisions are the lines of a history beside the versions. A line is added before the model changes: after a kill in
between, a version that was accepted is there and not in use.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from mpu_cli import bundle
from mpu_cli.bundle import TrainedModel, Versions, Writer, provenance
from mpu_cli.commands.history import append, readable
from mpu_cli.errors import ModelError, MpuError

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
    in_use: int | None  # The version that is the model itself; None where it is none of them, or missing.
    kept: list[int]  # The versions that are there.
    # A line for each training that was tested and for each version that was put back; oldest first.
    versions: list[dict[str, Any]]


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
