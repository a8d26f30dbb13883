"""M3L by its definition, in float64: small problems only."""

import numpy as np
from scipy.optimize import minimize


def primal_objective(Z: np.ndarray, X: np.ndarray, Y: np.ndarray, prior: np.ndarray, cost: float) -> float:
    """1/2 sum (R^-1)_lk <z_l, z_k> + C sum of hinge losses, with z_l the columns of Z."""
    sign = np.where(Y, 1.0, -1.0)
    loss = np.maximum(0, 1 - sign * (X @ Z)).sum()
    return float(0.5 * np.trace(np.linalg.inv(prior) @ Z.T @ Z) + cost * loss)


def solve_dual(gram: np.ndarray, Y: np.ndarray, prior: np.ndarray, cost: float) -> tuple[np.ndarray, float]:
    """Scores <z_l, phi(x_i)> of all instances (n x q), and the dual objective, by a general solver."""
    sign = np.where(Y, 1.0, -1.0)

    def scores(alpha: np.ndarray) -> np.ndarray:
        return gram @ (alpha.reshape(Y.shape) * sign) @ prior

    def negative_dual(alpha: np.ndarray) -> tuple[float, np.ndarray]:
        margin = (sign * scores(alpha)).ravel()
        return alpha @ margin / 2 - alpha.sum(), margin - 1

    found = minimize(
        negative_dual,
        np.zeros(Y.size),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, cost)] * Y.size,
        options={"ftol": 1e-15, "gtol": 1e-9, "maxiter": 20_000, "maxfun": 50_000},
    )
    return scores(found.x), -float(found.fun)
