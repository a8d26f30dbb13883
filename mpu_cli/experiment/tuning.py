"""One criterion of the decision threshold for all methods, which compares them apart from their own rules.

A fifth of the training instances is held out and predicted by a model of the others. The threshold, one for all labels,
maximises the micro-F1 that is estimated for complete labels from the incomplete ones (`mpu_cli.core.model.thresholds`).
The label frequency c that the estimate needs comes from all training instances as in `mpu train`, whatever the method.
The threshold is then used for the model of all training instances.
"""

from typing import Any

import numpy as np

from mpu_cli.core.data.features import Features
from mpu_cli.core.data.problem import Rows
from mpu_cli.core.frequency.estimators import estimate
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.model.thresholds import pooled_threshold
from mpu_cli.core.options import Validation
from mpu_cli.core.select.sample import Sample
from mpu_cli.core.validate.validation import deal
from mpu_cli.experiment.fit_predict import fit_and_predict
from mpu_cli.runtime.run import Run
from mpu_cli.svmlight.dataset import Dataset

_PARTS = 5


def tune(name: str, options: Any, training: Dataset, run: Run) -> tuple[float, float]:
    """Choose the threshold.

    Parameters
    ----------
    name : str
        Name of the method.
    options : object
        An instance of its options.
    training : Dataset
        Instances with incomplete labels.
    run : Run

    Returns
    -------
    threshold, c : float

    Raises
    ------
    MpuError
        As from `fit_and_predict`.
    """
    labels, _ = training.occurring_labels()
    sample = Sample(Rows(Features.of(training.features), labels), Validation.sample, Validation.folds, run)
    c = estimate(sample.naive_probabilities(), sample.labels).c
    held_out = deal(len(training), _PARTS, run.seed)[0]
    rest = np.setdiff1d(np.arange(len(training)), held_out, assume_unique=True)
    predictions = fit_and_predict(name, options, training[rest], training[held_out], run)
    annotated = training.labels[held_out]
    frequency = LabelFrequency.of(c, annotated.shape)
    threshold, _ = pooled_threshold(predictions.probabilities, annotated, frequency)
    return threshold, c
