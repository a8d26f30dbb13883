"""M3L with phi(x) = (x, 1): max-margin with a prior of label correlations (`experiment.m3l`)."""

import numpy as np
from scipy.sparse import csr_array, hstack

from mpu_cli.core.features import Features
from mpu_cli.core.limits import refuse_beyond_free
from mpu_cli.core.linear_model import LinearModel
from mpu_cli.core.sample import draw
from mpu_cli.experiment.m3l import (
    HAMMING,
    THRESHOLD,
    TOLERANCE,
    Dual,
    LinearSpace,
    choose_cost,
    correlation_prior,
    out_of_fold_f1,
    solve,
)
from mpu_cli.runtime.run import DEFAULT_RUN, Run

# Most instances for the choice of C.
_SAMPLE = 20_000


class Method:
    """M3L, linear.

    `cost`: C of the papers, half of a support vector machine's; None: by cross-validated micro-F1.
    `label_correlation`: weight rho of label correlations in the prior, from 0 to below 1; 0: independent labels.
    `folds`: of the choice of C; None: by the number of instances.
    """

    threshold = THRESHOLD

    def __init__(
        self,
        cost: float | None = None,
        label_correlation: float = 0.5,
        folds: int | None = None,
        run: Run = DEFAULT_RUN,
    ) -> None:
        self.cost, self.rho, self.folds, self.run = cost, label_correlation, folds, run

    def fit(self, X: csr_array, S: csr_array) -> None:
        """Learn; TooLargeError where weights and dual variables would not fit in memory."""
        (n, D), q, run = X.shape, S.shape[1], self.run
        refuse_beyond_free(
            4 * D * q + 5 * n * q,
            f"the weights of {D:,} features and the dual variables of {n:,} instances, for {q:,} labels,",
            "renumber the features from 1 without gaps, or compare fewer labels or instances",
        )
        extended = csr_array(hstack([X, csr_array(np.ones((n, 1), np.float32))], format="csr"))
        if self.cost is None:
            rows = draw(n, _SAMPLE, run.seed)
            unit = 1 / Features.of(X[rows]).mean_squared_norm()
            evaluate = out_of_fold_f1(LinearSpace(extended[rows]), X[rows], S[rows], self.rho, self.folds, run)
            bound, _ = choose_cost(evaluate, unit)
        else:
            bound = HAMMING * self.cost
        dual = Dual(LinearSpace(extended), S.toarray(), np.arange(n), correlation_prior(S, self.rho), bound)
        weights = solve(dual, TOLERANCE, run.seed).weights
        self.model = LinearModel(weights[:D], weights[D])

    def predict(self, X: csr_array) -> np.ndarray:
        """Return sigma(z)."""
        return self.model.probabilities(Features.of(X), self.run)
