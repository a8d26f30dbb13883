"""Evaluate the predictions of a file or a model against true labels, or compare several."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import nan
from pathlib import Path
from typing import Any

import click
import numpy as np
from scipy.sparse import csr_array

from mpu_cli import bundle
from mpu_cli.bundle.predicting import Fitness, reaching
from mpu_cli.cli.messages import info, output_report, present, print_table, print_values, rows_of, warn
from mpu_cli.cli.options import refuse_overlaps, refuse_set
from mpu_cli.core.features import base_shift
from mpu_cli.core.predictions import FEW_LABELS, stored
from mpu_cli.core.thresholds import reached
from mpu_cli.errors import (
    STANDARD_STREAM,
    DataError,
    InputError,
    MpuError,
    OverflowingError,
    RejectedError,
    for_terminal,
    shown,
    without_secrets,
)
from mpu_cli.evaluation import compare
from mpu_cli.evaluation.compare import Comparison
from mpu_cli.evaluation.metrics import (
    GAINS,
    SET_METRICS,
    LabelSetMetrics,
    Propensities,
    at_cutoffs,
    corrected_metrics,
    precision_recall_f1,
)
from mpu_cli.inputs.side_tables import frequencies_of_file
from mpu_cli.names.label_names import NAMELESS, LabelNames
from mpu_cli.names.naming import Naming
from mpu_cli.review import decisions
from mpu_cli.review.matching import match
from mpu_cli.runtime.files import Named
from mpu_cli.runtime.run import Run
from mpu_cli.svmlight.grammar import RENUMBERED, Reading
from mpu_cli.svmlight.prediction_files import iter_predictions
from mpu_cli.svmlight.reader import Dataset, gathered, iter_chunks
from mpu_cli.svmlight.streams import Files, bytes_of, refuse_unreadable
from mpu_cli.text.stored import Sidecars

_TITLES = {"micro_f1": "micro-F1", "macro_f1": "macro-F1", "samples_f1": "samples-F1"}
_PROBABILITIES = 1 << 22  # in memory at a time


def _is_model(name: str) -> bool:
    """Whether predictions are those of a model; ModelError if it is missing, as its name says."""
    path = Path(name)
    return path.is_dir() or (path.suffix == ".mpu" and not path.exists() and bool(bundle.load(path)))


class Truth:
    """Data with true labels: a file, and the options for reading it."""

    def __init__(self, file: str, reading: Reading, run: Run) -> None:
        self.file, self.reading, self.run, self.sidecars = file, reading, run, Sidecars(file)

    def chunks(self) -> Iterator[Dataset]:
        """Read the file."""
        return iter_chunks(self.file, self.reading, run=self.run, measures=self.sidecars.measures)

    def predicted(self, model: bundle.TrainedModel) -> Iterator[tuple[Dataset, Dataset]]:
        """Yield instances, a few at a time, and a model's predictions for them.

        These are the label sets by the model's thresholds, and all scores.
        """
        if model.packed_vectorizer is not None:
            self.sidecars.refuse_other_vectorizer(model.packed_vectorizer)
        ids, width = model.label_ids, int(model.label_ids[-1]) + 1
        rows = max(1, _PROBABILITIES // min(len(ids), FEW_LABELS))
        for part in (data[start : start + rows] for data in self.chunks() for start in range(0, len(data), rows)):
            try:
                predicted = reaching(model.predictor, part.features, model.predictor.thresholds, self.run)
            except OverflowingError:
                raise InputError(self.file, "feature values are too large; scale them as in training") from None
            both = reached(predicted, model.predictor.thresholds), stored(predicted)
            yield part, Dataset(*(csr_array((of.data, ids[of.indices], of.indptr), (len(part), width)) for of in both))


def _pairs(
    comparison: Comparison, model: bundle.TrainedModel | None, truth: Truth
) -> Iterator[tuple[Dataset, Dataset]]:
    """Yield instances and predictions (`svmlight.prediction_files`); then report whether the model, if any, fits."""
    name = comparison.name
    if model is None:
        predictions = iter_predictions(name, truth.reading, truth.run, comparison.threshold)
        yield from compare.lockstep(truth.chunks(), predictions, name)
        return
    fitness = Fitness()
    for true, predicted in truth.predicted(model):
        fitness += Fitness.of(model, true.features, true.labels)
        yield true, predicted
    if not fitness.entries:
        warn(f"{truth.file}: no instance has a feature, such as 1:0.5")
    for note in fitness.notes():
        info(f"{name}: {note}")
    for warning in fitness.warnings(model):
        warn(f"{name}: {warning}")


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """Options of the command: which metrics are reported, and how they are computed."""

    metrics: Sequence[str] | None  # None: all that the predictions allow
    # Label frequency of incomplete true labels, in (0, 1], or a file of frequencies, which may name labels (`naming`):
    # estimate metrics on complete labels
    c: float | Path | None
    naming: Naming
    k: tuple[int, ...]  # cut-offs of the metrics at k
    threshold: float | None  # as for `Comparison`
    # For a single predictions file only:
    training: str | None  # propensities of labels come from this file, by a model with these constants,
    propensity_a: float
    propensity_b: float
    per_label: bool
    calibration: bool
    reviewed: Sequence[str]
    fail_below: Sequence[tuple[str, float]]

    def rates_of(self, truth: Truth) -> Propensities | None:
        """Return the label frequencies of the truth; None if it is complete. InputError for a malformed file.

        The warnings from their estimation are repeated.
        """
        if not isinstance(self.c, Path):
            return None if self.c is None else Propensities(others=self.c)
        by_label, earlier = frequencies_of_file(self.c, truth.sidecars.names_of(self.naming, np.empty(0, int)))
        for warning in () if earlier is None else earlier.warnings:
            warn(f"{self.c}: {warning}")
        labels = np.array(sorted(by_label), np.int64)
        return Propensities(labels, np.array([by_label[label] for label in labels.tolist()], float), source=str(self.c))


def _compared(
    name: str, truth: Truth, wanted: Wanted, count: Callable[[int], None], **options: Any
) -> tuple[Comparison, LabelNames]:
    """Compare a model or a predictions file with the truth; also return the label names of the model or the review.

    `options`: of `Comparison`.
    """
    model, names = bundle.load(Path(name)) if _is_model(name) else None, NAMELESS
    options |= {"ks": wanted.k, "calibration": wanted.calibration}
    if model is not None:  # of a file, these are detected while reading
        options |= {"labels": True, "scores": True}
    comparison = Comparison(name, wanted.threshold, **options)
    pairs = _pairs(comparison, model, truth)
    if wanted.reviewed:
        reviewed, names = _reviewed_pair(truth, pairs, wanted)
        pairs = iter([reviewed])
    for true, predicted in pairs:
        comparison.add(true, predicted)
        count(len(true))
    return comparison, model.names if model is not None and model.names and wanted.naming.file is None else names


def evaluate_several(
    truth: Truth, predictions: Sequence[str], wanted: Wanted, count: Callable[[int], None]
) -> dict[str, Any]:
    """Compare several predictions with the same true labels, and the others with the first.

    The verdict uses the first of the metrics, or micro-F1 if that is among them.
    `count`: called with the number of newly compared instances, for each of the predictions.
    """
    refuse_unreadable(name for name in predictions if not _is_model(name))
    c = wanted.rates_of(truth)
    every, ranks = [], False
    for name in predictions:
        comparison, _ = _compared(name, truth, wanted, count, c=c, keep=True)
        if comparison.cut is not None and wanted.threshold is None:
            warn(f"{name}: {_CUT}")
        ranks |= comparison.ranks
        every.append(counts := comparison.counts)
        if c is not None and counts.hits.sum() > counts.predicted.sum():
            warn(f"{name}: {_clipped(wanted)}")
        del comparison  # and its chunks
    if wanted.threshold is not None and not ranks:
        raise _no_scores("--threshold", predictions[0])
    values, differences = compare.compare(every, truth.run.seed)
    names = wanted.metrics or [name for name in values[0] if all(name in one for one in values)]
    for metric, (name, one) in product(names, zip(predictions, values, strict=True)):
        if metric not in one:
            raise _no_scores(metric, name)
    by = "micro_f1" if "micro_f1" in names else names[0]
    n, width = every[0].truth.shape
    titles = list(map(without_secrets, predictions))
    report: dict[str, Any] = {"instances": n, "labels": width - 1}
    if wanted.c is not None:
        report["c"] = every[0].truth.nnz / every[0].truth.sum() if isinstance(wanted.c, Path) else wanted.c
    return report | {
        "evaluated": [
            {"name": name} | {metric: one[metric] for metric in names} for name, one in zip(titles, values, strict=True)
        ],
        "compared": [
            {
                "name": name,
                "compared_with": titles[0],
                "verdict": conclusion_on(titles[0], name, by, one[by]),
                "differences": {metric: one[metric] for metric in names},
            }
            for name, one in zip(titles[1:], differences, strict=True)
        ],
    }


def _clipped(wanted: Wanted) -> str:
    return f"the estimate of precision exceeded 1 and was cut to 1: --c {wanted.c} is probably too small"


def conclusion_on(first: str, other: str, metric: str, difference: compare.Difference) -> str:
    """Return which of two is ahead, if the interval is conclusive, from the other's metric minus the first's."""
    title = _TITLES.get(metric, metric.replace("_", " "))
    value, low, high = difference.value, difference.low, difference.high
    if not difference.is_sure:
        return (
            f"{other} and {first} cannot be told apart: the difference is {value:+z.4f} {title}, 95 % interval "
            f"{low:+z.4f} to {high:+z.4f}"
        )
    ahead, behind = (other, first) if value > 0 else (first, other)
    least, most = sorted(np.abs([low, high]).tolist())
    return f"{ahead} is ahead of {behind} by {abs(value):.4f} {title}, 95 % interval {least:.4f} to {most:.4f}"


def _no_scores(what: str, predictions: str) -> MpuError:
    """Return the error that a metric or an option needs scores, which these predictions lack."""
    return MpuError(
        f"{what} needs scores, and {shown(predictions)} has none; give the model, or make them with "
        "`mpu predict --format both`"
    )


_CUT = (
    f"labels that score {compare.THRESHOLD} or more count as predicted, since the file does not contain a threshold, "
    "as files from `mpu predict` do; give --threshold, or label lists"
)


def evaluate(truth: Truth, predictions: str, wanted: Wanted, count: Callable[[int], None]) -> dict[str, Any]:
    """Compare predictions with true labels.

    `predictions`: a file; or a model, to predict label sets and scores.
    `count`: called with the number of newly compared instances.
    """
    propensities = None
    if wanted.training is not None:
        annotated = (chunk.labels for chunk in iter_chunks(wanted.training, truth.reading, run=truth.run))
        try:
            propensities = Propensities.of_annotations(annotated, wanted.propensity_a, wanted.propensity_b)
        except DataError as error:
            raise InputError(wanted.training, str(error)) from error
    options = {"c": wanted.rates_of(truth), "propensities": propensities, "keep": bool(wanted.reviewed)}
    comparison, names = _compared(predictions, truth, wanted, count, **options)
    counts = comparison.label_sets
    labels, others = (np.repeat(counts.labels, of_labels) for of_labels in (counts.support, counts.predicted))
    shift = base_shift(labels, others)
    is_shifted = shift and labels[0] != others[0] < others[-1]  # the others may only confuse two labels
    if is_shifted and 2 * counts.true_positives.sum() < len(labels):
        ends = f"{labels[0]} to {labels[-1]} in TRUTH and {others[0]} to {others[-1]} in PREDICTIONS"
        advice = f"if they are numbered from different bases, renumber TRUTH: {RENUMBERED['labels'] % shift}"
        warn(f"labels are {ends}: {advice}")
    needed = [*(wanted.metrics or ()), *(name for name, _ in wanted.fail_below)]
    if missing := [name for name in needed if name not in comparison.results()]:
        raise _no_scores(missing[0], predictions)
    report = build_report(comparison, wanted.metrics and list(dict.fromkeys(needed)))
    if wanted.reviewed:
        found = compare.intervals(comparison.counts, truth.run.seed)
        report["intervals"] = {name: ends for name, ends in found.items() if name.startswith("micro")}
    uses_label_sets = wanted.per_label or not report.keys().isdisjoint(LabelSetMetrics().results())
    if "threshold" in report and uses_label_sets and wanted.threshold is None:
        warn(_CUT)
    if not counts.support.sum():
        warn("TRUTH has no labels; they begin a line, such as 3,7 1:0.5")
    if report.get("corrected", {}).get("clipped"):
        warn(_clipped(wanted))
    for option, given in {"--training": wanted.training, "--threshold": wanted.threshold}.items():
        if given is not None and not comparison.ranks:
            raise _no_scores(option, predictions)
    if wanted.calibration:
        if not comparison.scores:
            raise _no_scores("--calibration", predictions)
        report["calibration"] = {**comparison.reliability.summary(), "bins": comparison.reliability.rows()}
    if wanted.per_label:
        if not names and not wanted.reviewed:
            names = truth.sidecars.names_of(wanted.naming, counts.labels)
        listed = [names.name(label) for label in counts.labels.tolist()] if names else None
        report["per_label"] = per_label_report(comparison, listed)
    return report


def _reviewed_pair(
    truth: Truth, pairs: Iterator[tuple[Dataset, Dataset]], wanted: Wanted
) -> tuple[tuple[Dataset, Dataset], LabelNames]:
    """Return complete label sets and predictions of the randomly drawn and reviewed instances, and names."""
    data, listed = (gathered(iter(parts)) for parts in zip(*pairs, strict=True))
    names = truth.sidecars.names_of(wanted.naming, data.occurring_labels()[1])
    decided = decisions.read(wanted.reviewed, names, truth.sidecars.ids(len(data)), data.labels)
    matched = match(decided, data, truth.file)
    if matched.sampled is None:
        raise MpuError(
            f"{', '.join(wanted.reviewed)}: no instance was drawn at random and completely reviewed, and others would "
            "give a biased result; `mpu review --sample N` draws some"
        )
    true = matched.verified.rows(matched.sampled).certain(matched.labels[matched.sampled]).astype(bool)
    width = int(matched.ids.max(initial=-1)) + 1
    labels = csr_array((true.data, matched.ids[true.indices], true.indptr), shape=(len(matched.sampled), width))
    return (Dataset(labels, data.features[matched.sampled]), listed[matched.sampled]), names


def build_report(comparison: Comparison, metrics: Sequence[str] | None = None) -> dict[str, Any]:
    """Report the metrics of a comparison, without metrics of single labels."""
    results, counts, rates = comparison.results(), comparison.label_sets, comparison.c
    report = {"instances": counts.instances, "labels": len(counts.labels)} | present(threshold=comparison.cut)
    of_truth = {name: results[name] for name in (results if metrics is None else metrics)}
    if rates is None:
        return report | of_truth
    c = rates.of_counts(counts)
    every = corrected_metrics(counts.true_positives, counts.predicted, counts.support, c)
    every |= comparison.ranking.corrected() if comparison.ranks else {}
    estimates = {name: every[name] for name in [*of_truth, "clipped", "clipped_labels"] if name in every}
    true = (counts.support / c).sum()  # the overall c is the share of the true labels that is annotated
    share = float(counts.support.sum() / true) if true else nan
    return report | {"c": share if rates.others is None else rates.others} | of_truth | {"corrected": estimates}


def per_label_report(comparison: Comparison, names: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Report precision, recall and F1 of each label, ascending, and on complete labels if the truth is incomplete.

    `names`: names of the labels of `comparison.label_sets`.
    """
    counts = comparison.label_sets
    per_label = counts.true_positives, counts.predicted, counts.support
    columns: dict[str, Sequence[Any]] = {"label": counts.labels.tolist()}
    if names is not None:
        columns["name"] = names
    columns |= {"support": counts.support.tolist(), "predicted": counts.predicted.tolist()}
    columns |= {name: values.tolist() for name, values in precision_recall_f1(*per_label)._asdict().items()}
    if comparison.c is not None:
        corrected = precision_recall_f1(*per_label, comparison.c.of_counts(counts))
        columns["corrected"] = rows_of({name: values.tolist() for name, values in corrected._asdict().items()})
    return rows_of(columns)


def command(truth: str, predictions: tuple[str, ...], reading: Reading, run: Run, **chosen: Any) -> None:
    wanted = Wanted(**chosen)
    names, c, labels = wanted.metrics, wanted.c, wanted.naming.file
    inputs: Named = {"TRUTH": truth, "PREDICTIONS": predictions, "--labels": labels, "--reviewed": wanted.reviewed}
    refuse_overlaps({**inputs, "--c": c if isinstance(c, Path) else None, "--training": wanted.training}, {})
    several = len(predictions) > 1
    if several:
        for_one = "fail_below", "per_label", "training", "calibration", "reviewed", "labels"
        refuse_set(for_one, "{} is for one PREDICTIONS, not for several.")
        if truth == STANDARD_STREAM or Path(truth).is_fifo():
            raise click.UsageError("TRUTH is read again for each of several PREDICTIONS: it must be a file.")
    if wanted.reviewed and c is not None:
        raise click.UsageError("--reviewed and --c exclude each other: reviewed label sets are complete.")
    if not wanted.training:
        refuse_set(("propensity_a", "propensity_b"), "{} needs --training.")
    if labels is not None and not wanted.per_label and not wanted.reviewed and not isinstance(c, Path):
        raise click.UsageError("--labels needs --per-label, --reviewed or a file of --c.")
    all_names: Sequence[str] = compare.metric_names(wanted.k)
    if several:
        all_names = [*SET_METRICS, *([] if c is not None else [compare.SAMPLES_F1, *at_cutoffs(GAINS, wanted.k)])]
    if unknown := [name for name in names or () if name not in all_names]:
        raise click.BadParameter(f"{unknown[0]!r} is not one of {', '.join(all_names)}.", param_hint="--metrics")
    known = [name for name in all_names if not name.endswith(("_loss", "_error"))]
    for name, _ in wanted.fail_below:
        if name not in known:
            text = f"{name!r} is not one of the metrics where higher is better: {', '.join(known)}."
            raise click.BadParameter(text, param_hint="--fail-below")
    for name in (*(names or ()), *(name for name, _ in wanted.fail_below)):
        if name.startswith(("psp_", "psndcg_")) and not wanted.training:
            raise click.UsageError(f"{name} needs --training.")
    with run.step("evaluating", bytes_of(Files(file for name in predictions for file in (truth, name)))) as count:
        data = Truth(truth, reading, run)
        if several:
            report = evaluate_several(data, predictions, wanted, count)
        else:
            report = evaluate(data, predictions[0], wanted, count)
    output_report(report, print_comparison if several else _print_report)
    for name, number in wanted.fail_below:
        if report[name] < number:
            raise RejectedError(f"{name} is {report[name]:.4f}, below {number:g}")


def _print_report(report: dict[str, Any]) -> None:
    more = {name: value for name, value in report.items() if isinstance(value, dict | list)}
    estimates = dict(report.get("corrected", {}))
    columns = [["", "naive", "corrected"]] * bool(estimates)
    summary = {name: value for name, value in report.items() if name not in more}
    print_table(
        columns + [[name, value, *([estimates.pop(name, "")] if columns else [])] for name, value in summary.items()]
    )
    of_all = {"90 % interval": more.get("intervals"), "corrected": estimates, "calibration": more.get("calibration")}
    if rest := {name: values for name, values in (of_all | {"per_label": more.get("per_label")}).items() if values}:
        click.echo()
        print_values(rest)


def print_comparison(report: dict[str, Any]) -> None:
    """Print each one's metrics in a column, the differences from the first with intervals, and the verdicts."""
    print_table([[name, report[name]] for name in ("instances", "labels", "c") if name in report])
    click.echo()
    names, *rows = zip(*(of.values() for of in report["evaluated"]), strict=True)
    metrics = list(report["evaluated"][0])[1:]
    print_table(
        [
            ["on complete labels" if "c" in report else "", *names],
            *([metric, *values] for metric, values in zip(metrics, rows, strict=True)),
        ]
    )
    for compared in report["compared"]:
        click.echo()
        table = [
            [metric, *(f"{value:+z.4f}" for value in (difference.value, difference.low, difference.high))]
            for metric, difference in compared["differences"].items()
        ]
        print_table(
            [[f"{compared['name']} minus {compared['compared_with']}", "difference", "95 % from", "to"], *table]
        )
    click.echo()
    for compared in report["compared"]:
        click.echo(for_terminal(compared["verdict"]))
