"""The cells of an experiment, each a training and its test, the files that store the results, and their summary.

A cell has a sample of instances, a test fold, and a share of labels that is removed. `RECORD` has the settings and the
rows of the finished cells, from which a killed experiment continues; `RESULTS` has the same rows for others. Both are
replaced as a whole whenever a cell ends. Links in the folder are not followed.
"""

import csv
import io
import json
import os
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from functools import cache
from itertools import product
from math import isnan, nan
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.stats import linregress
from scipy.stats import t as student

from mpu_cli import __version__
from mpu_cli.core.features import Features, Scaling, only_entries, unevenness
from mpu_cli.core.options import LARGEST
from mpu_cli.core.predictions import stored
from mpu_cli.core.problem import kin_of
from mpu_cli.core.validation import deal
from mpu_cli.errors import InputError, MpuError
from mpu_cli.evaluation.compare import Comparison, metric_names
from mpu_cli.evaluation.metrics import FEWEST_INSTANCES, SET_METRICS, Propensities, corrected_metrics
from mpu_cli.experiment.methods import fit_and_predict, parts_of
from mpu_cli.names import lines
from mpu_cli.runtime.files import expect, json_value, open_regular, replacing
from mpu_cli.runtime.run import Run, blas_on_one_thread
from mpu_cli.svmlight.reader import Dataset

TABLES = RECORD, RESULTS, _ = "experiment.json", "results.csv", "summary.md"
LOSSES = ("brier", "log_loss", "ece")  # of scores from 0 to 1
# As in `mpu evaluate`, and estimates on complete labels, for a test set with incomplete labels.
METRICS = (*metric_names((1, 3, 5)), *LOSSES, *(f"corrected_{name}" for name in SET_METRICS))

# The result of a cell: values of `HEADER`, without empty ones. If it failed, `error` contains the reason, and there are
# no metrics. Macro averages are over the labels that are true or predicted in the test fold, and the Hamming loss over
# all labels of the sample.
Row = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """One training and its test."""

    method: str  # with its options, as the user wrote it: `mpu_cli.experiment.methods.make`
    missing_rate: float  # share of the training labels that is removed
    fold: int  # number of the test fold, from 0
    instances: int  # size of the sample: instances for training and testing together


_CELL = tuple(field.name for field in fields(Cell))
_NUMBERS = ("fit_seconds", "predict_seconds", "c")
_TEXTS = ("dataset", "method", "version", "error")
HEADER = ("dataset", "method", *_CELL[1:], *METRICS, *_NUMBERS, "seed", "version", "error")


@dataclass(frozen=True)
class Design:
    """An experiment."""

    methods: tuple[str, ...]
    missing_rates: tuple[float, ...]  # from 0 to below 1
    instances: tuple[int, ...]  # sizes of the samples, ascending
    folds: int  # number of folds of a sample
    run_folds: int  # number of folds that are used as test folds, each with the others for training
    seed: int = 0

    def cells(self) -> list[Cell]:
        """Return all cells, fold by fold, so that the finished ones are a fair comparison at any time."""
        keys = product(self.instances, range(self.run_folds), self.missing_rates, self.methods)
        return [Cell(method, rate, fold, size) for size, fold, rate, method in keys]

    def split(self, data: Dataset, cell: Cell) -> tuple[Dataset, Dataset, np.ndarray]:
        """Return the training instances of a cell, with labels removed, its test instances, and the former's rows.

        They depend on the seed, the number of instances and the fold; the removed labels also depend on the missing
        rate. Nothing depends on the method. A larger sample contains a smaller one. Uneven features are scaled.
        """
        drawn = np.sort(np.random.default_rng(self.seed).permutation(len(data))[: cell.instances])
        held_out = deal(len(drawn), self.folds, self.seed, kin_of(data.features[drawn]))[cell.fold]
        rows = np.delete(drawn, held_out)
        left = remove_labels(data.labels[rows], cell.missing_rate, (self.seed, cell.fold))
        features = data.features
        if unevenness(of_training := Features.of(features[rows]))[0]:
            features = Scaling.fit(of_training, LARGEST).of(Features.of(features)).as_sparse()
        return Dataset(left, features[rows]), Dataset(data.labels, features)[drawn[held_out]], rows


def remove_labels(labels: csr_array, missing_rate: float, seed: tuple[int, ...]) -> csr_array:
    """Remove a share of all labels uniformly: csr_array of bool, shape (n, q), before and after.

    With the same seed, labels removed at one rate are also removed at a higher rate, so a curve over rates does not
    vary with the draw. (`mpu corrupt`, which never has all labels in memory, cannot do this.)
    """
    order = np.random.default_rng(seed).permutation(labels.nnz)
    keep = np.ones(labels.nnz, bool)
    keep[order[: round(missing_rate * labels.nnz)]] = False
    return only_entries(labels, keep)


def measure(
    truth: csr_array, scores: np.ndarray, predicted: np.ndarray, training: csr_array, c: float | None
) -> dict[str, float]:
    """Return metrics by name: from `METRICS`, with corrected ones if the labels are incomplete, with label frequency c.

    `truth`, `scores` and `predicted` are for the test instances (n x q). `training` has the labels of the training
    instances before any were removed, for the propensities of Jain et al.; with too few, these metrics are missing.
    """
    of_all = stored(scores)
    propensities = Propensities.of_annotations([training]) if training.shape[0] >= FEWEST_INSTANCES else None
    comparison = Comparison("test", labels=True, scores=True, propensities=propensities)
    comparison.add(Dataset(truth, of_all), Dataset(csr_array(predicted), of_all))
    metrics = comparison.results()
    of_sample = np.union1d(truth.indices, training.indices)  # the same for all methods
    metrics["hamming_loss"] *= len(comparison.label_sets.labels) / max(len(of_sample), 1)
    with suppress(MpuError):  # scores of a method that are not probabilities
        comparison.reliability.add(truth, of_all)
        metrics |= {name: comparison.reliability.summary()[name] for name in LOSSES}
    if c is not None:
        sets = comparison.label_sets
        estimates = corrected_metrics(sets.true_positives, sets.predicted, sets.support, c)
        metrics |= {f"corrected_{name}": float(estimates[name]) for name in SET_METRICS}
    return metrics


@cache
def _warm(label: str, kernel: str | None) -> None:
    """Load the requirements of a method, such as compiled code, to exclude the time from the measured times."""
    toy = Dataset(csr_array(np.eye(8, 2, dtype=bool)), csr_array(np.eye(8, dtype=np.float32)))
    with suppress(Exception, SystemExit):  # there may be too few instances
        fit_and_predict(label, toy, toy, Run(jobs=1, kernel=kernel))


def run_cell(cell: Cell, design: Design, data: Dataset, dataset: str, kernel: str | None, c: float | None) -> Row:
    """Run a cell on one thread, and return its row. If it fails, the row contains the reason.

    `dataset`: name of the data in results.
    `c`: label frequency of the data, if their labels are incomplete before any are removed.
    """
    how = Run(seed=design.seed, jobs=1, kernel=kernel)
    row: Row = {"dataset": dataset, **asdict(cell), "seed": design.seed, "version": __version__, "error": ""}
    try:
        with blas_on_one_thread():
            _warm(cell.method, kernel)
            training, test, of_training = design.split(data, cell)
            found = fit_and_predict(cell.method, training, test, how)
            predicted = found.scores >= found.thresholds
            metrics = measure(test.labels, found.scores, predicted, data.labels[of_training], c)
            return row | {name: getattr(found, name) for name in _NUMBERS} | metrics
    except (Exception, SystemExit) as error:  # from a method, which may be third-party code
        name = "" if isinstance(error, MpuError) else f"{type(error).__name__}: "
        return {**row, "error": (name + " ".join(str(error).split())).rstrip(": ")}


def cell_of(row: Row) -> Cell:
    """Return the cell that a row belongs to."""
    return Cell(*(row[name] for name in _CELL))


def finished(folder: Path, settings: dict[str, Any]) -> list[Row]:
    """Return the rows of the cells that have ended in an experiment with these settings, without failed ones.

    MpuError if the folder has results of other settings, other code of a method, or other programs.
    """
    path = folder / RECORD
    try:
        with open_regular(path) as file:
            record = json_value(file.readall())
        before, rows = record["settings"], record["rows"]
        expect(isinstance(before, dict) and all(map(_is_row, rows)), "not rows")
        kept = [row for row in rows if not row["error"]]
        now = json.loads(json.dumps(settings))  # with lists for tuples
        for one in (before, now):  # a method that failed may have been corrected
            one["code"] = {row["method"]: one.get("code", {}).get(row["method"]) for row in kept}
    except FileNotFoundError:
        if os.path.lexists(folder / RESULTS):
            problem = "belongs to no experiment that can be continued; give another --out"
            raise InputError(folder / RESULTS, problem) from None
        return []
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(path, "is not the record of an experiment; give another --out") from error
    if other := [name for name in sorted(before.keys() | now.keys()) if before.get(name) != now.get(name)]:
        raise MpuError(
            f"{folder} contains an experiment with other settings ({', '.join(other)}): give the same ones to continue "
            "it, or another --out"
        )
    return kept


def _is_row(row: Any) -> bool:
    needed = {*_TEXTS, *_CELL, "seed"} | (set() if row["error"] else {*_NUMBERS})
    kinds = {name: str if name in _TEXTS else int | float for name in HEADER}
    return needed <= row.keys() <= kinds.keys() and all(isinstance(row[name], kinds[name]) for name in row)


def save(folder: Path, settings: dict[str, Any], rows: Collection[Row]) -> None:
    """Write the settings and the rows of the cells that have ended; MpuError if they cannot be written."""
    write(folder / RECORD, json.dumps({"settings": settings, "rows": [*rows]}, indent=1).encode() + b"\n")
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(HEADER)
    table.writerows([lines.cell(str(row.get(name, ""))) for name in HEADER] for row in rows)
    write(folder / RESULTS, text.getvalue().encode())


def write(path: Path, content: bytes) -> None:
    """Write a file in the folder, replacing anything with its name; MpuError if it cannot be written."""
    try:
        with replacing(path) as stream:
            stream.write(content)
    except OSError as error:
        raise MpuError(f"{path}: cannot be written: {error.strerror}") from error


_SHOWN = {"micro_f1": "Micro-F1", "macro_f1": "Macro-F1"}
_SHOWN |= {f"corrected_{metric}": f"{name} corrected for c" for metric, name in _SHOWN.items()}


def fit_power_law(seconds: dict[int, float]) -> Any:
    """Fit ``seconds = exp(intercept) * n ** slope`` by least squares on the logarithms, with at least two sizes n."""
    return linregress(np.log([*seconds]), np.log([*seconds.values()]))


class Panel(NamedTuple):
    """The content of one table or figure: all methods and missing rates, at one number of instances."""

    rows: list[Row]  # of cells that did not fail
    methods: list[str]  # in the order of the rows
    rates: list[float]  # ascending
    metrics: dict[str, str]  # displayed metrics and their names, with corrected ones if the data are incomplete

    @property
    def instances(self) -> int:
        """The number of instances."""
        return int(self.rows[0]["instances"])

    def scores(self, metric: str, method: str, rate: float) -> dict[int, float]:
        """Return a metric by fold."""
        rows = (row for row in self.rows if (row["method"], row["missing_rate"]) == (method, rate))
        return {row["fold"]: row[metric] for row in rows if metric in row}

    def over_folds(self, metric: str, method: str, rate: float) -> tuple[float, float]:
        """Return the mean and standard deviation of a metric over folds, NaN if there are too few for them."""
        return _mean_and_deviation([*self.scores(metric, method, rate).values()])


def _mean_and_deviation(values: list[float]) -> tuple[float, float]:
    return float(np.mean(values)) if values else nan, float(np.std(values, ddof=1)) if len(values) > 1 else nan


def panels(rows: Sequence[Row]) -> list[Panel]:
    """Group the rows of cells that did not fail into panels."""
    parts = defaultdict(list)
    for row in rows:
        if not row["error"]:
            parts[row["instances"]].append(row)
    return [
        Panel(
            part,
            list(dict.fromkeys(row["method"] for row in part)),
            sorted({row["missing_rate"] for row in part}),
            {metric: name for metric, name in _SHOWN.items() if any(metric in row for row in part)},
        )
        for part in parts.values()
    ]


def seconds_of(rows: Sequence[Row], step: str) -> dict[str, dict[int, float]]:
    """Return the mean time of a step, ``fit`` or ``predict``, by method and number of instances, as in the rows."""
    seconds: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if not row["error"]:
            seconds[row["method"]][row["instances"]].append(row[f"{step}_seconds"])
    return {method: {n: float(np.mean(s)) for n, s in by_size.items()} for method, by_size in seconds.items()}


def markdown(rows: Sequence[Row], c: float | None = None, folds: int = 10) -> str:
    """Write the summary of at least one row.

    c is the label frequency of the data, if they are incomplete before any labels are removed. A test set is one of
    this many folds of the instances.
    """
    parts = [f"# {rows[0]['dataset']}\n\nMean ± standard deviation over folds; the best of a column in bold.\n"]
    if c is not None:
        parts.append(
            f"By estimate, {c:.0%} of the true labels are annotated in these data, before any are removed: the "
            "test labels are incomplete too. Metrics on them are too low; those corrected for c estimate those on "
            "complete labels.\n"
        )
    for panel in panels(rows):
        for metric, name in panel.metrics.items():
            parts.append(f"## {name}, {panel.instances:,} instances\n\n{_scores(panel, metric)}")
            if len(panel.methods) > 1:
                parts.append(_against_first(panel, metric, folds))
    training, prediction = (seconds_of(rows, step) for step in ("fit", "predict"))
    times = [
        [method, f"{n:,}", f"{seconds:,.2f}", f"{prediction[method][n]:,.2f}"]
        for method, by_size in training.items()
        for n, seconds in by_size.items()
    ]
    header = ["method", "instances", "training, s", "prediction, s"]
    parts.append(f"## Mean time of a training run\n\n{_table(header, times)}")
    exponents = []
    for method, by_size in training.items():
        if len(by_size) > 1:
            law = fit_power_law(by_size)
            sizes = f"{min(by_size):,} to {max(by_size):,}"
            exponents.append([method, f"{law.slope:.2f} ± {law.stderr:.2f}", sizes])
    if exponents:
        table = _table(["method", "exponent ± standard error", "instances"], exponents)
        parts.append(f"## Training time as a power of the number of instances\n\n{table}")
    if counts := Counter((row["method"], row["instances"], row["error"]) for row in rows if row["error"]):
        causes = [[method, f"{size:,}", str(count), error] for (method, size, error), count in counts.items()]
        parts.append(f"## Failed\n\n{_table(['method', 'instances', 'runs', 'reason'], causes)}")
    return "\n".join(parts)


def _scores(panel: Panel, metric: str) -> str:
    values = np.array([[panel.over_folds(metric, method, rate) for rate in panel.rates] for method in panel.methods])
    best = np.nanmax(values[..., 0], axis=0)
    table = []
    for method, of_rates in zip(panel.methods, values, strict=True):
        cells = [method]
        for (mean, spread), top in zip(of_rates, best, strict=True):
            text = "" if isnan(mean) else f"{mean:.3f}" if isnan(spread) else f"{mean:.3f} ± {spread:.3f}"
            cells.append(f"**{text}**" if mean == top else text)
        table.append(cells)
    return _table(["method, by share of the labels missing", *(f"{rate:.0%}" for rate in panel.rates)], table)


def _against_first(panel: Panel, metric: str, folds: int) -> str:
    """Compare the first method with each of the others, on the folds that both have, by Student's t over folds.

    Training sets overlap, which adds the ratio of test set size to training set size to 1/m (Nadeau and Bengio,
    "Inference for the generalization error", Machine Learning 52, 2003).
    """
    first, *others = panel.methods

    def difference(other: str, rate: float) -> str:
        one, two = (panel.scores(metric, method, rate) for method in (first, other))
        differences = [one[fold] - two[fold] for fold in one.keys() & two.keys()]
        (mean, spread), m = _mean_and_deviation(differences), len(differences)
        if isnan(spread):
            return f"{mean:+.4f}" if m else ""
        half = float(student.ppf(0.975, m - 1)) * spread * (1 / m + 1 / (folds - 1)) ** 0.5
        low, high = np.clip((mean - half, mean + half), -1, 1)  # F1 is a share
        return f"{mean:+.4f} ({low:+.4f} to {high:+.4f})"

    table = [[other, *(difference(other, rate) for rate in panel.rates)] for other in others]
    return _table([f"{first} minus the method, with 95 % interval", *(f"{rate:.0%}" for rate in panel.rates)], table)


def _table(header: list[str], rows: list[list[str]]) -> str:
    rule = "|---" + "|---:" * (len(header) - 1) + "|"
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |" for cells in (header, *rows)]
    return "\n".join([lines[0], rule, *lines[1:]]) + "\n"


def short_names(labels: Sequence[str]) -> dict[str, str]:
    """Return a short name for each method label, such as ``mpu, levels=1``.

    Options that all methods of the same name share are left out.

    >>> short_names(["mpu:c=0.7:cost=100", "mpu:levels=1:c=0.7:cost=100", "br:cost=100"])
    {'mpu:c=0.7:cost=100': 'mpu', 'mpu:levels=1:c=0.7:cost=100': 'mpu, levels=1', 'br:cost=100': 'br'}
    """
    parts, shared = {label: parts_of(label) for label in labels}, dict[str, set[str]]()
    for name, options in parts.values():
        shared[name] = shared.get(name, {*options}).intersection(options)
    return {
        label: ", ".join([name, *(option for option in options if option not in shared[name])])
        for label, (name, options) in parts.items()
    }
