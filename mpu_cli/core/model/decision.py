"""Held-out predictions and annotations: what the decisions of a model rest on, its probabilities and thresholds."""

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.data.predictions import Predictions
from mpu_cli.core.frequency.label_frequency import LabelFrequency, count_annotations
from mpu_cli.core.model import thresholds
from mpu_cli.core.model.calibration import Calibration, calibrate
from mpu_cli.core.options import MACRO_F1, PER_LABEL, Options
from mpu_cli.core.train.levels import HeldOut


def decide(
    held_out: HeldOut,
    labels: csr_array,
    frequency: LabelFrequency,
    threshold: float,
    options: Options,
    annotated: np.ndarray | None = None,
) -> tuple[np.ndarray, float, Calibration | None]:
    """Make held-out predictions probabilities, in place, and choose the threshold of each label.

    `annotated`, the labels that are annotated somewhere, are those annotated here unless they are given.

    Returns thresholds, the micro-F1 to expect at them, and the map to probabilities.
    """
    if annotated is None:
        annotated = annotated_somewhere(labels)
    calibration = calibrate(*evidence(held_out, labels, frequency, annotated)) if options.calibrated else None
    if calibration is not None:
        threshold = float(calibration(np.array([threshold], np.float32))[0])
        calibration.apply(held_out.probabilities)
    if not isinstance(options.threshold, str):
        threshold = options.threshold
    told = evidence(held_out, labels, frequency, annotated)
    chosen = np.full(labels.shape[1], threshold, np.float32)
    if options.threshold == PER_LABEL:
        chosen[annotated], f1 = thresholds.label_thresholds(*told, threshold)
        return chosen, f1, calibration
    if options.threshold == MACRO_F1:
        chosen[annotated] = thresholds.macro_thresholds(told[0], threshold)
    return chosen, thresholds.estimated_f1(*told, chosen[annotated]), calibration


def evidence(
    held_out: HeldOut, labels: csr_array, frequency: LabelFrequency, annotated: np.ndarray | None = None
) -> tuple[Predictions, csr_array, LabelFrequency]:
    """Return held-out predictions, annotations and their frequency, of the labels that are annotated somewhere.

    Nothing tells how often another label is true: it gets the threshold of all.
    """
    predictions, annotations, of_cells = held_out.probabilities, labels[held_out.rows], frequency.rows(held_out.rows)
    if annotated is None:
        annotated = annotated_somewhere(labels)
    if len(annotated) == labels.shape[1]:
        return predictions, annotations, of_cells
    return predictions[:, annotated], annotations[:, annotated], of_cells.block(annotated)


def annotated_somewhere(labels: csr_array) -> np.ndarray:
    """Return the labels that are annotated somewhere, by column."""
    return np.flatnonzero(count_annotations(labels))
