"""The results of an experiment: metrics, a CSV file that grows cell by cell, and a file with the settings.

The rows of a cell are on disk before the next rows are written. So an interrupted experiment can be continued.
"""

import csv
import io
import json
import os
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.errors import InputError, MpuError
from mpu_cli.evaluation.compare import metric_names
from mpu_cli.evaluation.incomplete import corrected_metrics
from mpu_cli.evaluation.metrics import LabelSetMetrics, RankingMetrics
from mpu_cli.evaluation.propensities import FEWEST_INSTANCES, Propensities, PropensityScoredMetrics
from mpu_cli.experiment.design import Cell
from mpu_cli.runtime.files import open_regular
from mpu_cli.runtime.untrusted import json_value
from mpu_cli.svmlight.streams import open_output

# As in `mpu evaluate`.
NAIVE = tuple(metric_names((1, 3, 5)))
_AVERAGES = tuple(f"{average}_{name}" for average in ("micro", "macro") for name in ("precision", "recall", "f1"))
# Estimates on complete labels, for a test set with incomplete labels.
CORRECTED = tuple(f"corrected_{name}" for name in _AVERAGES)
NAMES = NAIVE + CORRECTED


def measure(
    truth: csr_array, probabilities: np.ndarray, predicted: np.ndarray, training: csr_array, c: float | None
) -> dict[str, float]:
    """Return the metrics by name: `NAIVE`, and `CORRECTED` where the labels are incomplete, with label frequency c.

    `truth`, `probabilities` and `predicted` are of the test instances (n x q). `training` has the labels of the
    training instances before any were removed, for the propensities of Jain et al.; of too few there are no such
    metrics.
    """
    label_sets, ranking = LabelSetMetrics(), RankingMetrics()
    scores = csr_array(
        (
            probabilities.ravel(),
            np.tile(np.arange(probabilities.shape[1]), len(probabilities)),
            np.arange(len(probabilities) + 1) * probabilities.shape[1],
        ),
        shape=probabilities.shape,
    )
    label_sets.add(truth, csr_array(predicted))
    ranking.add(truth, scores)
    metrics = label_sets.results() | ranking.results()
    if training.shape[0] >= FEWEST_INSTANCES:
        scored = PropensityScoredMetrics(Propensities.of_annotations([training]))
        scored.add(truth, scores)
        metrics |= scored.results()
    if c is not None:
        estimates = corrected_metrics(label_sets, c)
        metrics |= {f"corrected_{name}": float(estimates[name]) for name in _AVERAGES}
    return metrics


@dataclass(frozen=True)
class Row:
    """The result of a cell under one decision rule. If it failed, `error` has the reason and the numbers are None."""

    dataset: str
    method: str
    rule: str  # {"own", "tuned"}
    missing_rate: float
    fold: int
    instances: int
    # By name, a subset of `measures.NAMES`, on the labels of the test fold. Macro averages are over the labels that
    # are true or predicted there. Empty if the cell failed.
    metrics: dict[str, float] = field(default_factory=dict)
    # `fit_seconds`, `predict_seconds`: wall time on one thread, without reading the data and starting the process
    fit_seconds: float | None = None
    predict_seconds: float | None = None
    peak_bytes: int | None = None  # largest resident memory of the process of the cell, including libraries and data
    c: float | None = None  # mean label frequency of the method; 1 if it has none
    error: str = ""  # empty if the cell did not fail

    @classmethod
    def of(cls, cell: Cell, dataset: str, rule: str, **values: Any) -> "Row":
        """Make a row of a cell with these values."""
        return cls(dataset, cell.method, rule, cell.missing_rate, cell.fold, cell.instances, **values)

    @property
    def cell(self) -> Cell:
        """The cell of this row."""
        return Cell(self.method, self.missing_rate, self.fold, self.instances)


_FIELDS = tuple(field.name for field in fields(Row))
_METRICS = _FIELDS.index("metrics")
# The columns of the file: metrics have one each.
HEADER = (*_FIELDS[:_METRICS], *NAMES, *_FIELDS[_METRICS + 1 :])
_INTEGERS = {"fold", "instances", "peak_bytes"}
_WORDS = {"dataset", "method", "rule", "error"}
_NAMES = set(NAMES)


def resume(path: Path, cells: Collection[Cell], rules: Collection[str]) -> list[Row]:
    """Read the rows of complete cells. Remove the rows of other cells, left by an interruption, from the file.

    The file is created, with a header, if it does not exist. A cell is complete if it has a row for each of the rules.
    InputError where a line, other than an unfinished last one, is not a row of these cells.
    """
    text = _kept(path) if path.exists() else b""
    rows = _parse(text[: text.rfind(b"\n") + 1], path, set(cells))
    rules_of = defaultdict(set)
    for row in rows:
        rules_of[row.cell].add(row.rule)
    complete = [row for row in rows if rules_of[row.cell] == set(rules)]
    if (wanted := _lines([HEADER, *map(_values, complete)])) != text:
        with open_output(path) as stream:
            stream.write(wanted)
    return complete


def _kept(path: Path) -> bytes:
    try:
        with open_regular(path) as file:
            return file.readall()
    except ValueError as error:
        raise InputError(str(path), None, f"cannot be read: {error}; give another --out") from None


def append(path: Path, rows: Iterable[Row]) -> None:
    """Append rows. They are on disk when this returns."""
    with path.open("ab") as stream:
        stream.write(_lines(map(_values, rows)))
        stream.flush()
        os.fsync(stream.fileno())


def _values(row: Row) -> list[Any]:
    return [row.metrics.get(name) if name in _NAMES else getattr(row, name) for name in HEADER]


def _row(values: list[str]) -> Row:
    """Parse a row; ValueError if it is none."""
    values_of = {name: _value(name, value) for name, value in zip(HEADER, values, strict=True)}
    metrics = {name: values_of.pop(name) for name in NAMES}
    return Row(**values_of, metrics={name: value for name, value in metrics.items() if value is not None})


def _lines(rows: Iterable[Sequence[Any]]) -> bytes:
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
            row = _row(values)
            if row.cell not in cells:
                raise ValueError
            rows.append(row)
    except (ValueError, csv.Error) as error:
        raise InputError(
            str(path),
            max(reader.line_num, 1),
            "not a line that this experiment wrote; remove it, and its cell is run again",
        ) from error
    return rows


def _value(name: str, text: str) -> Any:
    if name in _WORDS:
        return text
    if not text:
        return None
    return int(text) if name in _INTEGERS else float(text)


def keep_settings(path: Path, settings: dict[str, Any]) -> None:
    """Write the settings of an experiment to a JSON file, or compare them with those that it has.

    MpuError, which names them, where these are others.
    """
    if not path.exists():
        with open_output(path) as stream:
            stream.write(json.dumps(settings, indent=2).encode() + b"\n")
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
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
