"""The summary of an experiment, in Markdown."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from math import isnan, nan
from typing import Any

import numpy as np
from scipy.stats import linregress
from scipy.stats import t as student

from mpu_cli.experiment.results import Row

METRICS = {"micro_f1": "Micro-F1", "macro_f1": "Macro-F1"}
METRICS |= {f"corrected_{metric}": f"{name} corrected for c" for metric, name in METRICS.items()}


def fit_power_law(sizes: Sequence[float], seconds: Sequence[float]) -> Any:
    """Fit ``seconds = exp(intercept) * n ** slope`` by least squares on the logarithms, of at least two sizes."""
    return linregress(np.log(sizes), np.log(seconds))


@dataclass(frozen=True)
class Panel:
    """The content of one table or figure: all methods and missing rates, at one number of instances."""

    instances: int
    methods: list[str]  # in the order of the rows
    rates: list[float]  # ascending
    folds: int  # number of folds with results
    metrics: dict[str, str]  # those that are shown and their names, with corrected ones if the data are incomplete
    _scores: dict[tuple[str, str, float], dict[int, float]]

    @classmethod
    def of(cls, rows: Sequence[Row]) -> "Panel":
        """Return what rows of one number of instances show."""
        scores: dict[tuple[str, str, float], dict[int, float]] = defaultdict(dict)
        for row in rows:
            for metric in METRICS.keys() & row.keys():
                scores[metric, row["method"], row["missing_rate"]][row["fold"]] = row[metric]
        return cls(
            rows[0]["instances"],
            list(dict.fromkeys(row["method"] for row in rows)),
            sorted({row["missing_rate"] for row in rows}),
            len({row["fold"] for row in rows}),
            {metric: name for metric, name in METRICS.items() if any(metric in row for row in rows)},
            scores,
        )

    def scores(self, metric: str, method: str, rate: float) -> dict[int, float]:
        """Return a metric by fold."""
        return self._scores.get((metric, method, rate), {})

    def mean(self, metric: str, method: str, rate: float) -> float:
        """Return the mean of a metric over folds; NaN if there are none."""
        scores = self.scores(metric, method, rate)
        return float(np.mean([*scores.values()])) if scores else nan

    def deviation(self, metric: str, method: str, rate: float) -> float:
        """Return the standard deviation of a metric over folds; NaN with fewer than two."""
        return _deviation([*self.scores(metric, method, rate).values()])


def _deviation(values: list[float]) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else nan


def panels(rows: Iterable[Row]) -> list[Panel]:
    """Group the rows of cells that did not fail into panels."""
    parts = defaultdict(list)
    for row in rows:
        if not row["error"]:
            parts[row["instances"]].append(row)
    return [Panel.of(part) for part in parts.values()]


def seconds_of(rows: Iterable[Row]) -> dict[tuple[str, int], np.ndarray]:
    """Return mean times of training and of prediction, by method and number of instances."""
    seconds = defaultdict(list)
    for row in rows:
        if not row["error"]:
            seconds[row["method"], row["instances"]].append((row["fit_seconds"], row["predict_seconds"]))
    return {key: np.mean(times, axis=0) for key, times in seconds.items()}


def fit_seconds(rows: Iterable[Row]) -> dict[str, dict[int, float]]:
    """Return the mean training time, by method and ascending number of instances."""
    seconds: dict[str, dict[int, float]] = defaultdict(dict)
    for (method, instances), (fit, _) in sorted(seconds_of(rows).items(), key=lambda item: item[0][1]):
        seconds[method][instances] = float(fit)
    return seconds


def markdown(rows: Sequence[Row], c: float | None = None, folds: int = 10) -> str:
    """Write the summary of at least one row.

    c is the label frequency of the data, if they are incomplete before any labels are removed. A test set has one of
    so many folds of the instances.
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
    times = [
        [method, f"{instances:,}", *(f"{time:,.2f}" for time in of_cell)]
        for (method, instances), of_cell in seconds_of(rows).items()
    ]
    header = ["method", "instances", "training, s", "prediction, s"]
    parts.append(f"## Time of a cell, means\n\n{_table(header, times)}")
    if exponents := [_exponent(method, seconds) for method, seconds in fit_seconds(rows).items() if len(seconds) > 1]:
        table = _table(["method", "exponent ± standard error", "instances"], exponents)
        parts.append(f"## Training time as a power of the number of instances\n\n{table}")
    if counts := Counter((row["method"], row["instances"], row["error"]) for row in rows if row["error"]):
        causes = [[method, f"{size:,}", str(count), error] for (method, size, error), count in counts.items()]
        parts.append(f"## Failed\n\n{_table(['method', 'instances', 'cells', 'why'], causes)}")
    return "\n".join(parts)


def _scores(panel: Panel, metric: str) -> str:
    means = np.array([[panel.mean(metric, method, rate) for rate in panel.rates] for method in panel.methods])
    best = np.nanmax(means, axis=0)
    table = []
    for method, row in zip(panel.methods, means, strict=True):
        cells = [method]
        for rate, value, top in zip(panel.rates, row, best, strict=True):
            spread = panel.deviation(metric, method, rate)
            text = "" if isnan(value) else f"{value:.3f}" if isnan(spread) else f"{value:.3f} ± {spread:.3f}"
            cells.append(f"**{text}**" if value == top else text)
        table.append(cells)
    return _table(["method, by share of the labels missing", *(f"{rate:.0%}" for rate in panel.rates)], table)


def _against_first(panel: Panel, metric: str, folds: int) -> str:
    """Compare the first method with each other, on the folds that both have."""
    first, *others = panel.methods
    table = []
    for other in others:
        cells = [other]
        for rate in panel.rates:
            one, two = (panel.scores(metric, method, rate) for method in (first, other))
            cells.append(_difference([one[fold] - two[fold] for fold in one.keys() & two.keys()], folds))
        table.append(cells)
    return _table([f"{first} minus the method, with 95 % interval", *(f"{rate:.0%}" for rate in panel.rates)], table)


def _difference(differences: list[float], folds: int) -> str:
    """Write the mean, and its interval by Student's t over folds; empty where there is none.

    Training sets overlap, which adds the size of a test set over that of a training set to 1/m (Nadeau and Bengio,
    "Inference for the generalization error", Machine Learning 52, 2003).
    """
    if not differences:
        return ""
    mean, spread, m = float(np.mean(differences)), _deviation(differences), len(differences)
    if isnan(spread):
        return f"{mean:+.4f}"
    half = float(student.ppf(0.975, m - 1)) * spread * (1 / m + 1 / (folds - 1)) ** 0.5
    low, high = np.clip((mean - half, mean + half), -1, 1)  # F1 is a share
    return f"{mean:+.4f} ({low:+.4f} to {high:+.4f})"


def _exponent(method: str, seconds: dict[int, float]) -> list[str]:
    law = fit_power_law(list(seconds), list(seconds.values()))
    return [method, f"{law.slope:.2f} ± {law.stderr:.2f}", f"{min(seconds):,} to {max(seconds):,}"]


def _table(header: list[str], rows: list[list[str]]) -> str:
    rule = "|---" + "|---:" * (len(header) - 1) + "|"
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |" for cells in (header, *rows)]
    return "\n".join([lines[0], rule, *lines[1:]]) + "\n"


def short_names(labels: Sequence[str]) -> dict[str, str]:
    """Return a name for each label of a method, such as ``mpu:levels=1:c=0.7``.

    Options that all methods of the same name share are left out. If two names would then be equal, they
    have all options.

    Examples
    --------
    >>> short_names(["mpu:c=0.7:cost=100", "mpu:levels=1:c=0.7:cost=100", "br:cost=100"])
    {'mpu:c=0.7:cost=100': 'mpu', 'mpu:levels=1:c=0.7:cost=100': 'mpu, levels=1', 'br:cost=100': 'br'}
    """
    parts = {label: [*takewhile(lambda word: "=" not in word, label.split(":"))] for label in labels}
    groups = defaultdict(list)
    options_of = {label: label.split(":")[len(name) :] for label, name in parts.items()}
    for label, name in parts.items():
        groups[*name].append(options_of[label])
    short_of = {}
    for label, name in parts.items():
        own = [option for option in options_of[label] if not all(option in others for others in groups[*name])]
        short_of[label] = ", ".join([":".join(name), *own])
    twice = Counter(short_of.values())
    return {label: short if twice[short] == 1 else label for label, short in short_of.items()}
