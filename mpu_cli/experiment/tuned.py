"""Any method with a tuned threshold: one criterion for all methods, which compares them apart from their own rules."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.labels.problem import kin_of
from mpu_cli.core.sample import estimate_out_of_fold
from mpu_cli.core.thresholds import pooled_threshold
from mpu_cli.core.validation import deal
from mpu_cli.experiment.cell import fit_and_predict
from mpu_cli.experiment.methods import make
from mpu_cli.runtime.run import Run
from mpu_cli.svmlight.dataset import Dataset

_PARTS = 5


class Method:
    """A method, by its label, with a threshold that is chosen on held-out training instances.

    A fifth of the training instances is held out and predicted by a model of the others. The threshold, one for all
    labels, maximises the micro-F1 that is estimated for complete labels from the incomplete ones
    (`mpu_cli.core.thresholds`). The label frequency c that the estimate needs comes from all training instances as in
    `mpu train`, whatever the method. The threshold is then used for the model of all training instances.
    """

    def __init__(self, label: str, run: Run) -> None:
        self.label, self.run, self.method = label, run, make(label, run)
        self.transductive = getattr(self.method, "transductive", False)

    def fit(self, X: csr_array, S: csr_array, *unlabeled: csr_array) -> None:
        """Learn; MpuError as from `fit_and_predict`."""
        self.c = estimate_out_of_fold(X, S, self.run).c
        held_out = deal(len(training := Dataset(S, X)), _PARTS, self.run.seed, kin_of(X))[0]
        rest = np.setdiff1d(np.arange(len(training)), held_out, assume_unique=True)
        predictions = fit_and_predict(self.label, training[rest], training[held_out], self.run)
        annotated = S[held_out]
        self.threshold, _ = pooled_threshold(predictions.scores, annotated, LabelFrequency.of(self.c, annotated.shape))
        self.method.fit(X, S, *unlabeled)

    def predict(self, X: csr_array) -> Any:
        """Return the scores of the method."""
        return self.method.predict(X)
