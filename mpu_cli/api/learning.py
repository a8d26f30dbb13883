"""Training, prediction and estimates for the estimator and the functions on arrays: all calls of core."""

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, vstack

from mpu_cli.api.arrays import Annotations
from mpu_cli.bundle.predicting import reaching
from mpu_cli.core import thresholds
from mpu_cli.core.evidence import Evidence
from mpu_cli.core.frequency.label_frequency import LabelFrequency, refuse_refuted
from mpu_cli.core.frequency.questions import Questions
from mpu_cli.core.limits import refuse_large_predictions
from mpu_cli.core.options import FrequencyOptions, Options
from mpu_cli.core.predictions import FEW_LABELS, Predictions, Top
from mpu_cli.core.sample import draw_questions
from mpu_cli.core.selection import Estimates
from mpu_cli.core.stacking import StackedModel
from mpu_cli.errors import DataError, MpuWarning
from mpu_cli.people import missing
from mpu_cli.people.suggestions import Cells, Choice
from mpu_cli.runtime import parallel
from mpu_cli.runtime.options import RunOptions, options_of
from mpu_cli.runtime.run import Run

# Probabilities that a thread computes at a time; of many labels, a few of each instance are kept.
_PROBABILITIES = 1 << 20


def _by_parts(predictor: StackedModel, matrix: csr_array, run: Run, of_part: Callable[[csr_array], Any]) -> Any:
    """Call a function of some instances after others, in threads; give where they are, and what it returns."""
    rows = max(1, _PROBABILITIES // min(len(predictor.thresholds), FEW_LABELS))
    parts = [slice(start, start + rows) for start in range(0, matrix.shape[0], rows)]
    return zip(parts, parallel.run(lambda part: of_part(matrix[part]), zip(parts), run.jobs), strict=True)


def probabilities(predictor: StackedModel, matrix: csr_array, run: Run, columns: np.ndarray, width: int) -> np.ndarray:
    """Predict how probable labels are, in these columns of an array of some width: float32, shape (n, width)."""
    refuse_large_predictions(matrix.shape[0], width)
    wide, q = np.zeros((matrix.shape[0], width), np.float32), len(predictor.thresholds)
    for part, predicted in _by_parts(predictor, matrix, run, lambda some: predictor.predictions(some, run, q)):
        wide[part, columns] = dense(predicted)
    return wide


def label_sets(predictor: StackedModel, matrix: csr_array, run: Run) -> csr_array:
    """Predict label sets: csr_array of bool, shape (n, q)."""

    def of_part(some: csr_array) -> csr_array:
        return thresholds.reached(reaching(predictor, some, predictor.thresholds, run), predictor.thresholds)

    return csr_array(vstack([sets for _, sets in _by_parts(predictor, matrix, run, of_part)], format="csr"))


def most_probable(predictor: StackedModel, matrix: csr_array, run: Run, k: int) -> csr_array:
    """Predict the k most probable labels of each instance: csr_array of float32, shape (n, q)."""

    def of_part(some: csr_array) -> csr_array:
        predicted = predictor.predictions(some, run, k)
        return Top(k, 0).of_dense(predicted) if isinstance(predicted, np.ndarray) else predicted

    return csr_array(vstack([top for _, top in _by_parts(predictor, matrix, run, of_part)], format="csr"))


def dense(predictions: Predictions) -> np.ndarray:
    """Return probabilities of all labels as an array."""
    return predictions if isinstance(predictions, np.ndarray) else predictions.toarray()


def questions(
    chosen: Mapping[str, Any], matrix: csr_array, annotations: Annotations, n: int, scores: np.ndarray | None
) -> Questions:
    """Draw questions as `mpu suggest --questions` does, by the caller's columns; by scores, where there are some."""
    if n < 1:
        raise DataError(f"n is {n}: give the number of questions, 1 or more")
    options = FrequencyOptions(folds=chosen["folds"], sample=chosen["sample"])
    drawn = draw_questions(annotations.problem(matrix), n, options, run_of(chosen), scores)
    return replace(drawn, columns=annotations.columns[drawn.columns])


def frequency(c: ArrayLike, annotations: Annotations) -> LabelFrequency:
    """Return the label frequency of all cells, of one number, or one for each label of the caller."""
    width = annotations.width
    if np.ndim(c) and np.shape(c) != (width,):
        raise DataError(f"c has shape {np.shape(c)}, and y has {width} columns: give one number, or one for each")
    rates = annotations.of_labels(np.broadcast_to(np.asarray(c, float), (width,)))
    frequency = LabelFrequency.of(rates, annotations.labels.shape, annotations.verified)
    _refuse_refuted(rates, annotations)
    return frequency


def missing_labels(evidence: Evidence, annotations: Annotations, top: int | None) -> Cells:
    """List what is probably missing as `mpu suggest` does, by the caller's columns."""
    problem = annotations.problem(without_features(annotations.labels.shape[0]))
    listed = missing.find(evidence, problem, annotations.columns, Choice(top, least=0.0)).listed
    return replace(listed, columns=annotations.columns[listed.columns])


def without_features(n: int) -> csr_array:
    """Return instances where scores take the place of features: csr_array of float32, shape (n, 1)."""
    return csr_array((n, 1), dtype=np.float32)


def options(chosen: Mapping[str, Any], annotations: Annotations) -> Options:
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


def warn_of(texts: Iterable[str], estimates: Estimates, annotations: Annotations) -> None:
    """Warn the caller's caller, also of labels that are left out of an estimate of c, by the caller's columns."""
    estimate = estimates.estimate
    left_out = [] if estimate is None else estimate.cautions(lambda k: str(annotations.columns[k]))
    for text in (*texts, *left_out):
        warnings.warn(text, MpuWarning, stacklevel=3)


def run_of(chosen: Mapping[str, Any]) -> Run:
    """Return the run that was chosen."""
    return Run(**{name: chosen[name] for name in (*options_of(RunOptions), "observe") if name in chosen})
