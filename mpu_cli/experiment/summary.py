"""The summary of an experiment, in Markdown."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import takewhile
from math import isnan, nan
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import linregress
from scipy.stats import t as student

from mpu_cli.experiment.cells import Row

METRICS = {"micro_f1": "Micro-F1", "macro_f1": "Macro-F1"}
METRICS |= {f"corrected_{metric}": f"{name} corrected for c" for metric, name in METRICS.items()}


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
        values = [*self.scores(metric, method, rate).values()]
        return (float(np.mean(values)) if values else nan), _deviation(values)


def _deviation(values: list[float]) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else nan


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
            {metric: name for metric, name in METRICS.items() if any(metric in row for row in part)},
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
    parts.append(f"## Time of a cell, means\n\n{_table(header, times)}")
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
        parts.append(f"## Failed\n\n{_table(['method', 'instances', 'cells', 'why'], causes)}")
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
    """Compare the first method with each of the others, on the folds that both have."""
    first, *others = panel.methods

    def difference(other: str, rate: float) -> str:
        one, two = (panel.scores(metric, method, rate) for method in (first, other))
        return _difference([one[fold] - two[fold] for fold in one.keys() & two.keys()], folds)

    table = [[other, *(difference(other, rate) for rate in panel.rates)] for other in others]
    return _table([f"{first} minus the method, with 95 % interval", *(f"{rate:.0%}" for rate in panel.rates)], table)


def _difference(differences: list[float], folds: int) -> str:
    """Format the mean, and its interval by Student's t over folds; empty if there is none.

    Training sets overlap, which adds the ratio of test set size to training set size to 1/m (Nadeau and Bengio,
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
    options = {}
    groups = defaultdict(list)
    for label in labels:
        words = label.split(":")
        name = ":".join(takewhile(lambda word: "=" not in word, words))
        options[label] = name, words[name.count(":") + 1 :]
        groups[name].append(options[label][1])
    return {
        label: ", ".join([name, *(word for word in own if not all(word in others for others in groups[name]))])
        for label, (name, own) in options.items()
    }
