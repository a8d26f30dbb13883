"""Any classifier in scikit-learn's conventions as a method. It takes missing labels for negatives."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import is_classifier

from mpu_cli.api.any_classifier import SEEDS, learned, scores, suited
from mpu_cli.errors import MpuError
from mpu_cli.runtime.run import Run


class Method:
    """It learns all labels at once where it can, else one by one. A label is predicted from a probability of 0.5."""

    def __init__(self, classifier: Any, label: str, run: Run) -> None:
        """Take the seed of the run, if the classifier takes one and has no other."""
        if not is_classifier(classifier):
            raise MpuError(f"{label} is not a scikit-learn classifier and has no fit and predict")
        self.classifier = classifier
        if classifier.get_params().get("random_state", run) is None:
            classifier.set_params(random_state=run.seed % SEEDS)

    def fit(self, X: csr_array, S: csr_array) -> None:
        """Learn; TooLargeError where it needs dense features, and memory is too small."""
        self.learned = learned(self.classifier, suited([self.classifier], X), S.toarray())
        self.q = S.shape[1]

    def predict(self, X: csr_array) -> np.ndarray:
        """Return probabilities, or the logistic function of decisions."""
        return scores(self.learned, suited(self.learned, X), self.q)
