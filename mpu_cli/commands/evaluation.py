"""What `mpu evaluate` reports, as one plain dictionary: its JSON, and the source of its tables."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from mpu_cli.errors import InputError, MpuError
from mpu_cli.evaluation.compare import Comparison
from mpu_cli.evaluation.incomplete import corrected, corrected_metrics
from mpu_cli.evaluation.metrics import LabelSetMetrics, precision_recall_f1
from mpu_cli.evaluation.ranking import RankingMetrics
from mpu_cli.svmlight.streams import open_input

_LONGEST_NAME = 1 << 16  # bytes of its line


def metric_names(ks: Sequence[int]) -> list[str]:
    """Names of all metrics, in the order of the report."""
    return [*LabelSetMetrics().results(), *RankingMetrics(tuple(ks)).results()]


def build_report(comparison: Comparison, metrics: Sequence[str] | None = None, c: float | None = None) -> dict:
    """Report the metrics of a comparison.

    Parameters
    ----------
    comparison : Comparison
    metrics : sequence of str, optional
        Which of `metric_names` to report; default all that the predictions allow.
    c : float, optional
        The truth is incomplete with this label frequency, in (0, 1]: report estimates on complete labels too.

    Returns
    -------
    dict
        ``instances``, ``labels`` (that occur in a true or predicted set), ``threshold`` (where the predictions are
        scores), ``c`` (where given) and the metrics. With `c` also ``corrected``: those of the metrics that can be
        estimated on complete labels, and ``clipped`` and ``clipped_labels`` (see `corrected_metrics`).

    Raises
    ------
    MpuError
        One of `metrics` needs scores and the predictions are label sets.
    """
    results = comparison.results()
    names = list(results) if metrics is None else metrics
    if missing := [name for name in names if name not in results]:
        raise MpuError(
            f"{missing[0]} needs scores, and PREDICTIONS has label lists; make it with `mpu predict --format scores`"
        )
    report: dict[str, Any] = {"instances": comparison.label_sets.instances, "labels": len(comparison.label_sets.labels)}
    if comparison.threshold is not None:
        report["threshold"] = comparison.threshold
    if c is not None:
        report["c"] = c
    report |= {name: results[name] for name in names}
    if c is not None:
        estimates = corrected_metrics(comparison.label_sets, c)
        wanted = [name for name in [*names, "clipped", "clipped_labels"] if name in estimates]
        report["corrected"] = {name: estimates[name] for name in wanted}
    return report


def per_label_report(counts: LabelSetMetrics, c: float | None = None, names: Sequence[str] | None = None) -> list[dict]:
    """Report precision, recall and F1 of each label.

    Parameters
    ----------
    counts : LabelSetMetrics
    c : float, optional
        As in `build_report`.
    names : sequence of str, optional
        Names of ``counts.labels``.

    Returns
    -------
    list of dict
        In ascending order of labels: ``label``, ``name`` (with `names`), ``support``, ``predicted``, ``precision``,
        ``recall``, ``f1`` and, with `c`, ``corrected`` with the last three on complete labels.
    """
    per_label = counts.true_positives, counts.predicted, counts.support
    columns = {"label": counts.labels.tolist()}
    if names is not None:
        columns["name"] = names
    columns |= {"support": counts.support.tolist(), "predicted": counts.predicted.tolist()}
    quality = ("precision", "recall", "f1")
    columns |= {name: x.tolist() for name, x in zip(quality, precision_recall_f1(*per_label), strict=True)}
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    if c is not None:
        estimates = corrected(*per_label, c)
        for i, row in enumerate(rows):
            row["corrected"] = {name: float(getattr(estimates, name)[i]) for name in quality}
    return rows


def read_label_names(path: str, labels: Sequence[int]) -> list[str]:
    """Read the names of labels from a text file whose line k names label k.

    Parameters
    ----------
    path : str
    labels : sequence of int
        The labels to name.

    Raises
    ------
    InputError
        The file is not UTF-8 text, a line is too long, or there is no line for one of `labels`.
    """
    if labels and min(labels) < 1:
        raise InputError(path, None, f"has no name for label {min(labels)}: line k names label k, from 1")
    names = []
    with open_input(path) as stream:
        for number, line in enumerate(iter(partial(stream.readline, _LONGEST_NAME), b""), 1):
            if len(line) == _LONGEST_NAME:
                raise InputError(path, number, f"longer than {_LONGEST_NAME:,} bytes; names are one on each line")
            try:
                names.append(line.decode().strip())
            except UnicodeDecodeError:
                raise InputError(path, number, "is not UTF-8 text; a file of names has one on each line") from None
            if number == max(labels, default=0):
                break  # the file may go on for ever
    if labels and max(labels) > len(names):
        raise InputError(
            path, None, f"has no name for label {max(labels)}: line k names label k, of {len(names)} lines"
        )
    return [names[label - 1] for label in labels]
