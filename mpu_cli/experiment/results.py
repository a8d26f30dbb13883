"""The results of an experiment: metrics, a CSV file that grows cell by cell, and a file with the settings.

The rows of a cell are on disk before the next rows are written. So an interrupted experiment can be continued. Links in
the folder are not followed.
"""

import csv
import io
import json
import os
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.errors import InputError, MpuError, one_line
from mpu_cli.evaluation.compare import metric_names
from mpu_cli.evaluation.incomplete import corrected_metrics
from mpu_cli.evaluation.metrics import LabelSetMetrics, RankingMetrics
from mpu_cli.evaluation.propensities import FEWEST_INSTANCES, Propensities, PropensityScoredMetrics
from mpu_cli.evaluation.reliability import Reliability
from mpu_cli.experiment.design import Cell
from mpu_cli.names import lines
from mpu_cli.runtime.files import open_regular, replacing
from mpu_cli.runtime.untrusted import json_value
from mpu_cli.version import __version__

_AVERAGES = tuple(f"{average}_{name}" for average in ("micro", "macro") for name in ("precision", "recall", "f1"))
# As in `mpu evaluate`, and estimates on complete labels, for a test set with incomplete labels.
_LOSSES = ("brier", "log_loss", "ece")  # of scores from 0 to 1
NAMES = (*metric_names((1, 3, 5)), *_LOSSES, *(f"corrected_{name}" for name in _AVERAGES))


def measure(
    truth: csr_array, scores: np.ndarray, predicted: np.ndarray, training: csr_array, c: float | None
) -> dict[str, float]:
    """Return metrics by name: of `NAMES`, the corrected ones where the labels are incomplete, with label frequency c.

    `truth`, `scores` and `predicted` are of the test instances (n x q). `training` has the labels of the training
    instances before any were removed, for the propensities of Jain et al.; of too few there are no such metrics.
    """
    label_sets, ranking = LabelSetMetrics(), RankingMetrics()
    n, q = scores.shape
    of_all = csr_array((scores.ravel(), np.tile(np.arange(q), n), np.arange(n + 1) * q), shape=(n, q))
    label_sets.add(truth, csr_array(predicted))
    ranking.add(truth, of_all)
    metrics = label_sets.results() | ranking.results()
    if training.shape[0] >= FEWEST_INSTANCES:
        scored = PropensityScoredMetrics(Propensities.of_annotations([training]))
        scored.add(truth, of_all)
        metrics |= scored.results()
    with suppress(MpuError):  # scores of a method that are no probabilities
        (reliability := Reliability()).add(truth, of_all)
        metrics |= {name: reliability.summary()[name] for name in _LOSSES}
    if c is not None:
        estimates = corrected_metrics(label_sets, c)
        metrics |= {f"corrected_{name}": float(estimates[name]) for name in _AVERAGES}
    return metrics


@dataclass(frozen=True)
class Row:
    """The result of a cell under one decision rule. If it failed, `error` has the reason and the numbers are 0."""

    cell: Cell
    dataset: str
    rule: str  # {"own", "tuned"}
    # By name, some of `NAMES`, on the labels of the test fold. Macro averages are over the labels that are true or
    # predicted there. Empty if the cell failed.
    metrics: dict[str, float] = field(default_factory=dict)
    fit_seconds: float = 0.0
    predict_seconds: float = 0.0
    c: float = 0.0
    error: str = ""
    seed: int = 0
    version: str = __version__

    def texts(self) -> list[str]:
        """Return the values of the columns."""
        values = vars(self) | asdict(self.cell) | self.metrics
        if self.error:
            values |= dict.fromkeys(_NUMBERS, "")
        return [lines.cell(str(values.get(name, ""))) for name in HEADER]

    @classmethod
    def of(cls, texts: Sequence[str]) -> "Row":
        """Parse a row; ValueError if it is none."""
        of_column = dict(zip(HEADER, texts, strict=True))
        of_row: dict[str, Any] = {
            name: lines.meanings(of_column[name])[0] for name in ("dataset", "method", "version", "error")
        }
        seed, *ints = (int(of_column[name]) for name in ("seed", "fold", "removal", "instances"))
        cell = Cell(of_row.pop("method"), float(of_column["missing_rate"]), *ints)
        metrics = {name: float(of_column[name]) for name in NAMES if of_column[name]}
        if not of_row["error"]:
            of_row |= {name: float(of_column[name]) for name in _NUMBERS}
        return cls(cell, rule=of_column["rule"], metrics=metrics, seed=seed, **of_row)


_NUMBERS = ("fit_seconds", "predict_seconds", "c")
_CELL = list(Cell.__dataclass_fields__)[1:]
HEADER = ("dataset", "method", "rule", *_CELL, *NAMES, *_NUMBERS, "seed", "version", "error")


def resume(path: Path, cells: Collection[Cell], rules: Collection[str]) -> list[Row]:
    """Read the rows of complete cells. Remove the rows of other cells, left by an interruption, from the file.

    The file is created, with a header, if it does not exist. A cell is complete if it has a row for each of the rules.
    InputError where a line, other than an unfinished last one, is not a row of these cells.
    """
    text = _kept(path)
    rows = _parse(text[: text.rfind(b"\n") + 1], path, set(cells))
    rules_of = defaultdict(set)
    for row in rows:
        rules_of[row.cell].add(row.rule)
    complete = [row for row in rows if rules_of[row.cell] == set(rules)]
    if (wanted := _written([HEADER, *(row.texts() for row in complete)])) != text:
        write(path, wanted)
    return complete


def append(path: Path, rows: Iterable[Row]) -> None:
    """Append rows. They are on disk when this returns."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK), "ab") as stream:
        stream.write(_written(row.texts() for row in rows))
        stream.flush()
        os.fsync(stream.fileno())


def write(path: Path, content: bytes) -> None:
    """Write a file in the folder, in place of whatever has its name; MpuError where it cannot be written."""
    try:
        with replacing(path) as stream:
            stream.write(content)
    except OSError as error:
        raise MpuError(f"{path}: cannot be written: {error.strerror}") from error


def _kept(path: Path) -> bytes:
    """Return what is in a file, nothing where there is none."""
    try:
        with open_regular(path) as file:
            return file.readall()
    except FileNotFoundError:
        return b""
    except ValueError as error:
        raise InputError(str(path), None, f"cannot be read: {error}; give another --out") from None


def _written(rows: Iterable[Sequence[str]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def _parse(text: bytes, path: Path, cells: set[Cell]) -> list[Row]:
    reader = csv.reader(io.StringIO(text.decode(errors="replace"), newline=""), strict=True)
    rows = []
    try:
        if next(reader, list(HEADER)) != list(HEADER):
            raise ValueError
        for values in reader:
            rows.append(Row.of(values))
            if rows[-1].cell not in cells:
                raise ValueError
    except (ValueError, csv.Error) as error:
        raise InputError(
            str(path),
            max(reader.line_num, 1),
            "not a line that this experiment wrote; remove it, and its cell is run again",
        ) from error
    return rows


def keep_settings(path: Path, settings: dict[str, Any]) -> None:
    """Write the settings of an experiment to a JSON file, or compare them with those that it has.

    MpuError, which names them, where these are others.
    """
    settings = json.loads(json.dumps(settings))  # with lists for tuples
    if not os.path.lexists(path):
        write(path, json.dumps(settings, indent=2).encode() + b"\n")
        return
    try:
        before = dict(json_value(_kept(path)))
    except (ValueError, TypeError) as error:
        raise InputError(str(path), None, "not the settings of an experiment; give another --out") from error
    differing = [
        f"{name} {_shown(before.get(name))}, now {_shown(settings.get(name))}"
        for name in sorted(before.keys() | settings.keys())
        if before.get(name) != settings.get(name)
    ]
    if differing:
        raise MpuError(
            f"{path.parent} holds an experiment with other settings ({'; '.join(differing)}): "
            "give the same ones to go on with it, or another --out"
        )


def _shown(value: Any) -> str:
    return one_line(",".join(map(str, value)) if isinstance(value, list) else str(value))
