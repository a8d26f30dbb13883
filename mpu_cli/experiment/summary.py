"""The summary of an experiment, in Markdown."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from math import isnan
from typing import Any

import numpy as np
from scipy.stats import linregress
from scipy.stats import t as student

from mpu_cli.experiment.design import OWN
from mpu_cli.experiment.results import Row


def fit_power_law(sizes: Sequence[float], seconds: Sequence[float]) -> Any:
    """Fit ``seconds = exp(intercept) * n ** slope`` by least squares on the logarithms, of at least two sizes."""
    return linregress(np.log(sizes), np.log(seconds))


METRICS = {"micro_f1": "Micro-F1", "macro_f1": "Macro-F1"}
CORRECTED = {f"corrected_{metric}": f"{name} corrected for c" for metric, name in METRICS.items()}
_TUNED = " (tuned threshold)"


@dataclass(frozen=True)
class Panel:
    """The content of one table or figure: all methods and missing rates, at one number of instances."""

    instances: int
    methods: list[str]  # with their decision rule, where it is the tuned threshold
    rates: list[float]  # ascending
    _rows: dict[tuple[str, float], list[Row]]

    def scores(self, metric: str, method: str, rate: float) -> dict[int, float]:
        """Return a metric by fold, its mean where labels are removed several times."""
        by_fold = defaultdict(list)
        for row in self._rows.get((method, rate), ()):
            if metric in row.metrics:
                by_fold[row.cell.fold].append(row.metrics[metric])
        return {fold: mean(values) for fold, values in by_fold.items()}

    @property
    def metrics(self) -> dict[str, str]:
        """The metrics that are shown, by name, with corrected ones if the data are incomplete."""
        there = {metric for rows in self._rows.values() for row in rows for metric in row.metrics}
        return {metric: name for metric, name in (METRICS | CORRECTED).items() if metric in there}

    @property
    def folds(self) -> int:
        """The number of folds with results."""
        return len({row.cell.fold for rows in self._rows.values() for row in rows})

    def mean(self, metric: str, method: str, rate: float) -> float:
        """Return the mean of a metric over folds; NaN if there are none."""
        return mean(self.scores(metric, method, rate).values())

    def deviation(self, metric: str, method: str, rate: float) -> float:
        """Return the standard deviation of a metric over folds; NaN with fewer than two."""
        return deviation(self.scores(metric, method, rate).values())


def mean(values: Iterable[float]) -> float:
    """Return the mean; NaN if there are no values."""
    values = list(values)
    return float(np.mean(values)) if values else float("nan")


def deviation(values: Iterable[float]) -> float:
    """Return the sample standard deviation; NaN for fewer than two values."""
    values = list(values)
    return float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")


def panels(rows: Iterable[Row]) -> list[Panel]:
    """Group the rows of cells that did not fail into panels. Methods keep the order of the rows."""
    parts: dict[int, dict[tuple[str, float], list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if not row.error:
            shown = row.cell.method + _TUNED * (row.rule != OWN)
            parts[row.cell.instances][shown, row.cell.missing_rate].append(row)
    return [
        Panel(instances, list(dict.fromkeys(m for m, _ in part)), sorted({r for _, r in part}), part)
        for instances, part in parts.items()
    ]


def fit_seconds(rows: Iterable[Row]) -> dict[str, dict[int, float]]:
    """Return the mean training time under the method's own rule, by method and number of instances."""
    seconds: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in _own(rows):
        seconds[row.cell.method][row.cell.instances].append(row.fit_seconds)
    return {method: {n: mean(values) for n, values in sorted(sizes.items())} for method, sizes in seconds.items()}


def markdown(rows: Sequence[Row], c: float | None = None, folds: int = 10) -> str:
    """Write the summary of at least one row.

    c is the label frequency of the data, if they are incomplete before any labels are removed. A test set has one of
    so many folds of the instances.
    """
    parts = [f"# {rows[0].dataset}\n\nMean ± standard deviation over folds; the best of a column in bold.\n"]
    if c is not None:
        parts.append(
            f"By estimate, {c:.0%} of the true labels are annotated in these data, before any are removed: the "
            "test labels are incomplete too. Metrics on them are too low; those corrected for c are estimates on "
            "complete labels.\n"
        )
    for panel in panels(rows):
        for metric, name in panel.metrics.items():
            parts.append(f"## {name}, {panel.instances:,} instances\n\n{_scores(panel, metric)}")
            if len(panel.methods) > 1:
                parts.append(_against_first(panel, metric, folds))
    parts.append(f"## Time of a cell, means\n\n{_costs(rows)}")
    if exponents := _exponents(rows):
        parts.append(f"## Training time as a power of the number of instances\n\n{exponents}")
    if any(row.error for row in rows):
        parts.append(f"## Failed\n\n{_failures(rows)}")
    return "\n".join(parts)


def _own(rows: Iterable[Row]) -> Iterator[Row]:
    return (row for row in rows if not row.error and row.rule == OWN)


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
            differences = [one[fold] - two[fold] for fold in one.keys() & two.keys()]
            interval = _interval(differences, folds)
            cells.append((f"{mean(differences):+.4f}" + f" ({interval})" * bool(interval)) if differences else "")
        table.append(cells)
    return _table([f"{first} ahead of, with 95 % interval", *(f"{rate:.0%}" for rate in panel.rates)], table)


def _interval(differences: list[float], folds: int) -> str:
    """Write the interval of the mean by Student's t over folds; empty for fewer than two.

    Training sets overlap, which adds the size of a test set over that of a training set to 1/m (Nadeau and Bengio,
    "Inference for the generalization error", Machine Learning 52, 2003).
    """
    if isnan(spread := deviation(differences)):
        return ""
    m = len(differences)
    half = float(student.ppf(0.975, m - 1)) * spread * (1 / m + 1 / (folds - 1)) ** 0.5
    return f"{mean(differences) - half:+.4f} to {mean(differences) + half:+.4f}"


def _costs(rows: Sequence[Row]) -> str:
    seconds = defaultdict(list)
    for row in _own(rows):
        seconds[row.cell.instances, row.cell.method].append((row.fit_seconds, row.predict_seconds))
    table = [
        [method, f"{instances:,}", *(f"{of:,.2f}" for of in np.mean(of_cell, axis=0))]
        for (instances, method), of_cell in seconds.items()
    ]
    return _table(["method", "instances", "training, s", "prediction, s"], table)


def _exponents(rows: Sequence[Row]) -> str:
    table = []
    for method, seconds in fit_seconds(rows).items():
        if len(seconds) > 1:
            law = fit_power_law(list(seconds), list(seconds.values()))
            span = f"{min(seconds):,} to {max(seconds):,}"
            table.append([method, f"{law.slope:.2f} ± {law.stderr:.2f}", span])
    return _table(["method", "exponent ± standard error", "instances"], table) if table else ""


def _failures(rows: Sequence[Row]) -> str:
    cells = dict.fromkeys((row.cell, row.error) for row in rows if row.error)
    counts = Counter((cell.method, cell.instances, error) for cell, error in cells)
    table = [[method, f"{instances:,}", str(count), error] for (method, instances, error), count in counts.items()]
    return _table(["method", "instances", "cells", "why"], table)


def _table(header: list[str], rows: list[list[str]]) -> str:
    rule = "|---" + "|---:" * (len(header) - 1) + "|"
    return "\n".join([_line(header), rule, *map(_line, rows)]) + "\n"


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def short_names(labels: Sequence[str]) -> dict[str, str]:
    """Return a name for each label of a method, such as ``mpu:levels=1:c=0.7``.

    Options that all methods of the same name share are left out. If two names would then be equal, they
    have all options.

    Examples
    --------
    >>> short_names(["mpu:c=0.7:cost=100", "mpu:levels=1:c=0.7:cost=100", "br:cost=100"])
    {'mpu:c=0.7:cost=100': 'mpu', 'mpu:levels=1:c=0.7:cost=100': 'mpu, levels=1', 'br:cost=100': 'br'}
    """
    whole = {label: label.removesuffix(_TUNED) for label in labels}
    parts = {label: [*takewhile(lambda word: "=" not in word, label.split(":"))] for label in whole.values()}
    groups = defaultdict(list)
    options_of = {label: label.split(":")[len(name) :] for label, name in parts.items()}
    for label, name in parts.items():
        groups[*name].append(options_of[label])
    short_of = {}
    for label, name in parts.items():
        own = [option for option in options_of[label] if not all(option in others for others in groups[*name])]
        short_of[label] = ", ".join([":".join(name), *own])
    twice = Counter(short_of.values())
    short_of = {label: short if twice[short] == 1 else label for label, short in short_of.items()}
    return {label: short_of[name] + label[len(name) :] for label, name in whole.items()}
