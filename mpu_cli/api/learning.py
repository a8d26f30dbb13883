"""Training, prediction and estimates for the estimator and the functions on arrays: all calls of core."""

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, vstack

from mpu_cli.api.arrays import Annotations
from mpu_cli.bundle import TrainedModel
from mpu_cli.core.data.limits import refuse_large_predictions, refuse_large_sample, refuse_too_large
from mpu_cli.core.data.predictions import FEW_LABELS, Predictions, Top, all_reaching
from mpu_cli.core.frequency import estimators
from mpu_cli.core.frequency.given import refuse_refuted
from mpu_cli.core.frequency.label_frequency import LabelFrequency, count_annotations
from mpu_cli.core.frequency.questions import Questions
from mpu_cli.core.frequency.single_frequencies import SingleFrequencies, estimate_singly
from mpu_cli.core.model import thresholds
from mpu_cli.core.model.stacking import StackedModel
from mpu_cli.core.options import LINEAR, Options, Validation
from mpu_cli.core.select.hyper_parameters import Estimates
from mpu_cli.core.select.sample import Sample, draw_labels, draw_questions, usual_folds
from mpu_cli.core.suggest import suggestions
from mpu_cli.core.suggest.by_answers import Corrections
from mpu_cli.core.suggest.other_labels import given_other_labels
from mpu_cli.core.suggest.posterior import unannotated_posterior
from mpu_cli.core.train import algorithm
from mpu_cli.core.train.choose_features import choose_features
from mpu_cli.core.train.evidence import Evidence
from mpu_cli.errors import DataError, MpuWarning
from mpu_cli.inputs.training_data import TrainingData
from mpu_cli.methods.scikit_learn.classifiers import Learned, scores
from mpu_cli.methods.scikit_learn.classifiers import learn as learn_any
from mpu_cli.runtime import parallel
from mpu_cli.runtime.options import RunOptions, options_of
from mpu_cli.runtime.run import Run

# Probabilities that a thread computes at a time; of many labels, a few of each instance are kept.
_PROBABILITIES = 1 << 20


def learn(chosen: Mapping[str, Any], matrix: csr_array, annotations: Annotations, ids: np.ndarray) -> TrainedModel:
    """Train a model as `mpu train` does.

    Every parameter is from `parameters.checked`; features are float32, n x D; `ids` are the numbers of labels in files,
    ascending.
    """
    options, run = _options(chosen, annotations), run_of(chosen)
    data = TrainingData(features=matrix, labels=annotations.labels, ids=ids, **vars(annotations.label_information))
    fitted = data.fit(options, run)
    for warning in fitted.warnings:
        warnings.warn(warning, MpuWarning, stacklevel=3)
    return data.assembled(fitted, options, run)


def predictions(
    predictor: StackedModel, matrix: csr_array, run: Run, most: int | None = None
) -> Iterator[tuple[slice, Predictions]]:
    """Predict instances slice by slice, in threads; `most` as for `StackedModel.predictions`."""
    parts = _parts(predictor, matrix)
    predicted = parallel.run(lambda part: predictor.predictions(matrix[part], run, most), zip(parts), run.jobs)
    return zip(parts, predicted, strict=True)


def _parts(predictor: StackedModel, matrix: csr_array) -> list[slice]:
    rows = max(1, _PROBABILITIES // min(len(predictor.thresholds), FEW_LABELS))
    return [slice(start, start + rows) for start in range(0, matrix.shape[0], rows)]


def probabilities(predictor: StackedModel, matrix: csr_array, run: Run, columns: np.ndarray, width: int) -> np.ndarray:
    """Predict how probable labels are, in these columns of an array of some width: float32, shape (n, width)."""
    refuse_large_predictions(matrix.shape[0], width)
    wide = np.zeros((matrix.shape[0], width), np.float32)
    for part, predicted in predictions(predictor, matrix, run, len(predictor.thresholds)):
        wide[part, columns] = _dense(predicted)
    return wide


def label_sets(predictor: StackedModel, matrix: csr_array, run: Run) -> csr_array:
    """Predict label sets: csr_array of bool, shape (n, q)."""

    def of_part(part: slice) -> csr_array:
        predict = partial(predictor.predictions, matrix[part], run)
        return thresholds.reached(all_reaching(predict, predictor.thresholds), predictor.thresholds)

    label_sets = parallel.run(of_part, zip(_parts(predictor, matrix)), run.jobs)
    return csr_array(vstack(list(label_sets), format="csr"))


def most_probable(predictor: StackedModel, matrix: csr_array, run: Run, k: int) -> csr_array:
    """Predict the k most probable labels of each instance: csr_array of float32, shape (n, q)."""
    predicted = (part for _, part in predictions(predictor, matrix, run, k))
    kept = [Top(k, 0).of_dense(part) if isinstance(part, np.ndarray) else part for part in predicted]
    return csr_array(vstack(kept, format="csr"))


@dataclass(frozen=True)
class OutOfFold:
    """Predictions of training instances by models that have not seen them.

    Attributes
    ----------
    probabilities : ndarray of float32, shape (n, q)
        p = Pr(y=1 | x).
    c : ndarray of float, shape (q,)
        Label frequency of each label; NaN where it is unknown, since the label is never annotated.
    posteriors : ndarray of float32, shape (n, q)
        How probably a label is true, were it not annotated: (1-c) g / (1 - c g), where g is Pr(y=1 | x and the
        annotations of the other labels), of up to 500 labels, and p of more. Of interest where it is not annotated:
        there the highest are the labels that are most probably missing, in the order of `mpu suggest`.
    """

    probabilities: np.ndarray
    c: np.ndarray
    posteriors: np.ndarray


def held_out(chosen: Mapping[str, Any], matrix: csr_array, annotations: Annotations) -> OutOfFold:
    """Predict every instance by models that have not seen it."""
    options = _options(chosen, annotations)
    refuse_large_predictions(*annotations.labels.shape)
    run = run_of(chosen)
    _, report = algorithm.train(annotations.problem(matrix), options, run, hold_out_all=True)
    _warn([*report.warnings(), *_cautions(report.estimates, annotations)])
    frequency = LabelFrequency.of(report.c, annotations.labels.shape, annotations.verified)
    held_out = report.held_out.probabilities
    posteriors = unannotated_posterior(
        _dense(given_other_labels(held_out, annotations.labels, frequency, run)), report.c
    )
    widened = annotations.widened
    return OutOfFold(widened(_dense(held_out)), widened(report.c, np.nan), widened(posteriors))


def _dense(predictions: Predictions) -> np.ndarray:
    return predictions if isinstance(predictions, np.ndarray) else predictions.toarray()


def questions(
    chosen: Mapping[str, Any], matrix: csr_array, annotations: Annotations, n: int, scores: np.ndarray | None
) -> Questions:
    """Draw questions as `mpu suggest --questions` does, by the caller's columns; by scores, where there are some."""
    if n < 1:
        raise DataError(f"n is {n}: give the number of questions, 1 or more")
    options = Validation(folds=chosen["folds"], sample=chosen["sample"])
    drawn = draw_questions(annotations.problem(matrix), n, options, run_of(chosen), scores)
    return replace(drawn, columns=annotations.columns[drawn.columns])


def estimate_frequency(
    chosen: Mapping[str, Any],
    matrix: csr_array,
    annotations: Annotations,
    method: str,
    scores: np.ndarray | None,
    per_label: bool,
) -> estimators.FrequencyEstimate | SingleFrequencies:
    """Estimate c as `mpu estimate-c` does, of all labels or of each; by scores, where there are some."""
    q, run = len(annotations.columns), run_of(chosen)
    refuse_too_large(matrix.shape[1], q, levels=1)
    labels = draw_labels(count_annotations(annotations.labels), run.seed)
    refuse_large_sample(min(matrix.shape[0], chosen["sample"]), q if labels is None else len(labels.columns))
    features = chosen["features"] if scores is None else LINEAR
    options = Options(folds=chosen["folds"], sample=chosen["sample"], features=features)
    instances = choose_features(annotations.problem(matrix), options, run).instances
    drawn = Sample(instances, options.sample, options.folds or usual_folds(len(instances), q), run, labels)
    probabilities = drawn.naive_probabilities() if scores is None else drawn.part_of(scores)
    how = estimators.REPLICATES, run.seed, drawn.verified, drawn.fold_of_instances
    estimate = estimators.estimate(probabilities, drawn.labels, method, *how)
    _warn(
        [
            *([estimate.caution] if estimate.caution else []),
            *_cautions(Estimates(estimate=drawn.of_all_labels(estimate)), annotations),
        ]
    )
    if estimate.one_label_each:
        estimate = replace(estimate, c=np.nan, interval=None)
    elif per_label:
        singly = estimate_singly(probabilities, drawn.labels, method, estimate, drawn.verified)
        return singly.of_all(annotations.width, annotations.columns[drawn.columns], estimate.c)
    return replace(estimate, labels=np.sort(annotations.columns[drawn.of_all_labels(estimate).labels]))


def frequency(c: ArrayLike, annotations: Annotations) -> LabelFrequency:
    """Return the label frequency of all cells, of one number, or one for each label of the caller."""
    width = annotations.width
    if np.ndim(c) and np.shape(c) != (width,):
        raise DataError(f"c has shape {np.shape(c)}, and y has {width} columns: give one number, or one for each")
    rates = annotations.of_labels(np.broadcast_to(np.asarray(c, float), (width,)))
    frequency = LabelFrequency.of(rates, annotations.labels.shape, annotations.verified)
    _refuse_refuted(rates, annotations)
    return frequency


def missing_labels(evidence: Evidence, annotations: Annotations, choice: suggestions.Choice) -> suggestions.Cells:
    """List what is probably missing as `mpu suggest` does, by the caller's columns."""
    labels, frequency = annotations.labels, evidence.frequency
    probabilities = given_other_labels(evidence.probabilities, labels, frequency)
    answers = annotations.problem(without_features(labels.shape[0])).answers
    corrections = Corrections.of(probabilities, labels, frequency, answers, evidence.reviewed)
    annotated = frequency.positives(labels).astype(bool)
    cells = suggestions.suggest(probabilities, annotated, frequency, choice, correction=corrections)
    return replace(cells, columns=annotations.columns[cells.columns])


@dataclass(frozen=True)
class Scored:
    """Training instances with out-of-fold scores of any classifier, and what these say."""

    learned: Learned
    annotations: Annotations
    chosen: Mapping[str, Any]

    @classmethod
    def of(
        cls,
        estimator: Any,
        X: Any,
        annotations: Annotations,
        chosen: Mapping[str, Any],
        unannotated: str,
        parallel: Any,
        per_label: bool,
    ) -> "Scored":
        """Learn classifiers of the labels."""
        problem = annotations.problem(without_features(annotations.labels.shape[0]))
        how = {"unannotated": unannotated, "parallel": parallel, "per_label": per_label}
        learned = learn_any(estimator, X, problem, _options(chosen, annotations), run_of(chosen), **how)
        evidence = learned.evidence
        _warn([*evidence.warnings, *_cautions(evidence.estimates, annotations)])
        return cls(learned, annotations, chosen)

    @property
    def c(self) -> np.ndarray:
        """The label frequency of each label of the caller; NaN where the label was not learned and c differs."""
        rates = self.learned.evidence.frequency.rates
        return self.annotations.widened(rates, rates[0] if (rates == rates[0]).all() else np.nan)

    @property
    def group_c(self) -> dict[str, float]:
        """The label frequency of each group of instances, by name; none without groups."""
        groups, of_instances = self.annotations.groups, self.learned.evidence.frequency.of_instances
        if groups is None or of_instances is None:
            return {}
        first = np.unique(groups.of_instances, return_index=True)[1]
        return dict(zip(groups.names, of_instances[first].tolist(), strict=True))

    @property
    def thresholds(self) -> np.ndarray:
        """The threshold of each label of the caller."""
        return self.annotations.widened(self.learned.decision.thresholds, np.inf)

    @property
    def expected_f1(self) -> tuple[float, tuple[float, float]]:
        """The micro-F1 to expect, and its 90 % interval."""
        expected = self.learned.decision.expected
        return min(expected.f1, 1.0), self.learned.evidence.estimates.f1_interval(expected)

    def probabilities(self, X: Any) -> np.ndarray:
        """Predict the labels of the caller of other instances: float32, shape (n, width)."""
        evidence = self.learned.evidence
        assert evidence.calibration is not None
        scored = scores(self.learned.classifiers, X, self.annotations.labels.shape[1])
        return self.annotations.widened(evidence.calibration(scored))

    def missing_labels(self, top: int | None) -> suggestions.Cells:
        """List what is probably missing."""
        return missing_labels(self.learned.evidence, self.annotations, suggestions.Choice(top=top))

    def questions(self, n: int) -> Questions:
        """Draw cells to ask people about."""
        matrix = without_features(self.annotations.labels.shape[0])
        return questions(self.chosen, matrix, self.annotations, n, self.learned.scores)


def without_features(n: int) -> csr_array:
    """Return instances where scores take the place of features: csr_array of float32, shape (n, 1)."""
    return csr_array((n, 1), dtype=np.float32)


def _options(chosen: Mapping[str, Any], annotations: Annotations) -> Options:
    """Return the chosen options, with c for the labels that are learned; DataError if the annotations refute it."""
    values, width = {name: chosen[name] for name in options_of(Options)}, annotations.width
    c = values["c"]
    if c is not None and np.ndim(c):
        if np.shape(c) != (width,):
            raise DataError(f"c has shape {np.shape(c)}, and there are {width} labels: give one for each")
        values["c"] = c = c[annotations.columns]
    if c is not None:
        _refuse_refuted(c, annotations)
    return Options(**values)


def _refuse_refuted(c: Any, annotations: Annotations) -> None:
    refuse_refuted(c, annotations.labels, annotations.verified, lambda k: str(annotations.columns[k]))


def _cautions(estimates: Estimates, annotations: Annotations) -> list[str]:
    """Name the labels of the caller that are left out of an estimate of c."""
    estimate = estimates.estimate
    return [] if estimate is None else estimate.cautions(lambda k: str(annotations.columns[k]))


def _warn(texts: list[str]) -> None:
    for text in texts:
        warnings.warn(text, MpuWarning, stacklevel=4)


def run_of(chosen: Mapping[str, Any]) -> Run:
    """Return the run that was chosen."""
    return Run(**{name: chosen[name] for name in (*options_of(RunOptions), "observe") if name in chosen})
