"""M3L with phi(x) = (x, 1): max-margin with a prior of label correlations (`experiment.m3l`)."""

import numpy as np
from scipy.sparse import csr_array, hstack

from mpu_cli.core.features import Features
from mpu_cli.core.limits import refuse_beyond_free
from mpu_cli.core.linear_model import LinearModel
from mpu_cli.core.sample import draw
from mpu_cli.experiment.m3l import HAMMING, LinearSpace, MaxMargin

# Most instances for the choice of C.
_SAMPLE = 20_000


class Method(MaxMargin):
    """M3L, linear.

    `cost`: C of the papers, half of a support vector machine's; None: by cross-validated micro-F1.
    `label_correlation`: weight rho of label correlations in the prior, from 0 to below 1; 0: independent labels.
    `folds`: of the choice of C; None: by the number of instances.
    """

    def fit(self, X: csr_array, S: csr_array) -> None:
        """Learn; TooLargeError where weights and dual variables would not fit in memory."""
        (n, D), q = X.shape, S.shape[1]
        refuse_beyond_free(
            4 * D * q + 5 * n * q,
            f"the weights of {D:,} features and the dual variables of {n:,} instances, for {q:,} labels,",
            "renumber the features from 1 without gaps, or compare fewer labels or instances",
        )
        extended = csr_array(hstack([X, csr_array(np.ones((n, 1), np.float32))], format="csr"))
        if self.cost is None:
            rows = draw(n, _SAMPLE, self.run.seed)
            unit = 1 / Features.of(X[rows]).mean_squared_norm()
            bound, _ = self.choose(self.out_of_fold_f1(LinearSpace(extended[rows]), X[rows], S[rows]), unit)
        else:
            bound = HAMMING * self.cost
        weights = self.learned(LinearSpace(extended), S, bound)
        self.model = LinearModel(weights[:D], weights[D])

    def predict(self, X: csr_array) -> np.ndarray:
        """Return sigma(z)."""
        return self.model.probabilities(Features.of(X), self.run)
