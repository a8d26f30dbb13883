"""Evaluate several models and files of predictions by one file of true labels, and compare them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

import numpy as np

from mpu_cli.commands.evaluate.candidates import Candidate, Collect
from mpu_cli.errors import MpuError, without_secrets
from mpu_cli.evaluation.bootstrap import SAMPLES_F1, SET_METRICS, Counts, Difference, Tally, compare, ranking_names
from mpu_cli.evaluation.compare import Form, labels_from_scores
from mpu_cli.evaluation.propensities import Propensities
from mpu_cli.names import BESIDE, Naming
from mpu_cli.runtime.report import HIDDEN, INLINE, Count, Frequency
from mpu_cli.runtime.run import DEFAULT_RUN, Run
from mpu_cli.svmlight.dataset import Dataset
from mpu_cli.svmlight.grammar import DEFAULT_READING, Reading
from mpu_cli.svmlight.streams import Source, refuse_unreadable
from mpu_cli.text.sidecars import Sidecars
from mpu_cli.training.side_tables import frequencies_of_file

_VERDICT = "micro_f1"
_TITLES = {"micro_f1": "micro-F1", "macro_f1": "macro-F1", "samples_f1": "samples-F1"}


@dataclass(frozen=True, kw_only=True)
class Evaluated:
    """The metrics of one of the predictions, which has the name by which the user called it."""

    name: str
    metrics: Annotated[dict[str, float], ("$ref", "common.schema.json#/$defs/metrics")] = field(metadata=INLINE)


@dataclass(frozen=True, kw_only=True)
class Compared:
    """One of the predictions minus another."""

    name: str
    compared_with: str
    verdict: str  #: In words.
    differences: dict[str, Difference]  #: Of metrics, with 95 % intervals.


@dataclass(frozen=True, kw_only=True)
class Report:
    """What several predictions of the same instances are worth."""

    instances: Count
    labels: Count  #: Labels that are true for at least one instance.
    #: Label frequency of the true labels, where they are incomplete: metrics are estimates on complete labels.
    c: Frequency | None = None
    evaluated: list[Evaluated]
    compared: list[Compared]  #: Each but the first, with the first.
    #: Predictions that are scores alone, so that their label sets rest on a threshold that nobody chose.
    cut: list[str] = field(metadata=HIDDEN)


@dataclass(frozen=True, kw_only=True)
class Metrics:
    """Which metrics are reported, and how they are computed."""

    names: Sequence[str] | None = None  # None: all that the predictions allow
    # The true labels are incomplete with this label frequency, in (0, 1], or those in this file, which may name
    # labels (`naming`): estimate metrics on complete labels
    c: float | Path | None = None
    naming: Naming = BESIDE
    ks: tuple[int, ...] = (1, 3, 5)  # cut-offs of the metrics at k
    threshold: float | None = None  # as for `evaluation.compare.compare`

    def frequencies(self, truth: Source) -> Propensities | None:
        """Return the label frequencies of the truth; None where it is complete. InputError for a malformed file."""
        if not isinstance(self.c, Path):
            return None if self.c is None else Propensities.of_all(self.c)
        names = Sidecars(truth).names_of(self.naming, np.empty(0, int), endless=True)
        return Propensities.of_frequencies(frequencies_of_file(self.c, names), str(self.c))


def metric_names(ks: Sequence[int], c: float | Path | None = None) -> list[str]:
    """Names of all metrics that several predictions are compared by."""
    return [*SET_METRICS, *([SAMPLES_F1, *ranking_names(ks)] if c is None else [])]


def evaluate_several(
    truth: Source,
    predictions: Sequence[str],
    metrics: Metrics = Metrics(),
    *,
    count: Callable[[int], None] = lambda _: None,
    collect: Collect = Candidate.collect,
    reading: Reading = DEFAULT_READING,
    run: Run = DEFAULT_RUN,
) -> Report:
    """Compare several predictions with the same true labels, and the others with the first.

    `truth`: data; they are read for each of the predictions.
    `predictions`: at least two files, directories of them or models, as for `commands.evaluate.evaluation.evaluate`.
    `metrics`: names among `metric_names`; the verdict is by the first of them, or by micro-F1 if that is among them.
    `count`: called with how many more instances have been compared, for each of the predictions.
    `collect`: as `Candidate.collect`.
    `run`: its seed is that of the bootstrap.
    Raises InputError (a file cannot be read), MpuError (the files have different numbers of instances, or one of the
    metrics needs scores that not all have).
    """
    refuse_unreadable(name for name in predictions if not Path(name).is_dir())
    cut: list[str] = []
    c = metrics.frequencies(truth)
    every = []
    for name in predictions:
        candidate = Candidate.of(name, truth)
        begun = _Evidence(candidate.form, metrics.threshold, Tally(metrics.ks), Tally(metrics.ks), c)
        evidence = collect(candidate, begun, truth, reading, run, name, count)
        every.append(evidence.counts())
        cut += [name] * evidence.is_cut
    values, differences = compare(every, c is not None, run.seed)
    common = [name for name in values[0] if all(name in one for one in values)]
    if missing := [name for name in metrics.names or () if name not in common]:
        without = next(name for name, one in zip(predictions, values, strict=True) if missing[0] not in one)
        raise MpuError(
            f"{missing[0]} needs scores, and {without} has label lists; give the model, or make them with "
            "`mpu predict --format both`"
        )
    names = list(metrics.names or common)
    by = _VERDICT if _VERDICT in names else names[0]
    n, width = every[0].truth.shape
    shown = list(map(without_secrets, predictions))
    return Report(
        instances=n,
        labels=width - 1,
        c=every[0].truth.nnz / every[0].truth.sum() if isinstance(metrics.c, Path) else metrics.c,
        evaluated=[
            Evaluated(name=name, metrics={metric: one[metric] for metric in names})
            for name, one in zip(shown, values, strict=True)
        ],
        compared=[
            Compared(
                name=name,
                compared_with=shown[0],
                verdict=verdict_on(shown[0], name, by, one[by]),
                differences={metric: one[metric] for metric in names},
            )
            for name, one in zip(shown[1:], differences, strict=True)
        ],
        cut=cut,
    )


@dataclass
class _Evidence:
    """What is counted of one of the predictions, with label lists, and with those labels that reach a threshold."""

    form: Form
    threshold: float | None
    listed: Tally
    over: Tally
    c: Propensities | None

    def add(self, true: Dataset, predicted: Dataset) -> None:
        """Count some more instances."""
        self.form.see(predicted)
        labels = true.labels if self.c is None else self.c.weighted(true.labels)
        self.listed.add(labels, predicted.labels, predicted.features)
        if self.threshold is not None or not self.form.labels:
            self.over.add(labels, labels_from_scores(predicted.features, self.threshold))

    def __add__(self, other: "_Evidence") -> "_Evidence":
        """Return what the instances of both give."""
        both = self.listed + other.listed, self.over + other.over
        return _Evidence(self.form + other.form, self.threshold, *both, self.c)

    @property
    def _by_threshold(self) -> bool:
        return self.form.scores and (self.threshold is not None or not self.form.labels)

    @property
    def is_cut(self) -> bool:
        """Whether the label sets come from the usual threshold."""
        return self._by_threshold and self.threshold is None

    def counts(self) -> Counts:
        """Return what was counted of all instances."""
        counts = (self.over if self._by_threshold else self.listed).counts()
        has_scores = self.form.scores or not self.form.labels
        return replace(counts, gains=self.listed.gains() if has_scores else None)


def verdict_on(first: str, other: str, metric: str, difference: Difference) -> str:
    """Say which of two is ahead, if the interval tells, by the metric of the other minus that of the first."""
    title = _TITLES.get(metric, metric.replace("_", " "))
    value, low, high = difference.value, difference.low, difference.high
    if not difference.is_sure:
        return (
            f"{other} and {first} cannot be told apart: the difference is {value:+.3f} {title}, 95 % interval "
            f"{low:+.3f} to {high:+.3f}"
        )
    ahead, behind = (other, first) if value > 0 else (first, other)
    least, most = sorted(np.abs([low, high]).tolist())
    return f"{ahead} is ahead of {behind} by {abs(value):.3f} {title}, 95 % interval {least:.3f} to {most:.3f}"
