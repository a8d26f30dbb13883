"""The metrics of a cell: all those of `mpu evaluate`, and their estimates on complete labels."""

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.commands.evaluate.evaluation import metric_names
from mpu_cli.evaluation.incomplete import corrected_metrics
from mpu_cli.evaluation.metrics import LabelSetMetrics
from mpu_cli.evaluation.propensities import FEWEST_INSTANCES, Propensities, PropensityScoredMetrics
from mpu_cli.evaluation.ranking import RankingMetrics

# Those of `mpu evaluate`.
NAIVE = tuple(metric_names((1, 3, 5)))
_AVERAGES = tuple(f"{average}_{name}" for average in ("micro", "macro") for name in ("precision", "recall", "f1"))
# Estimates on complete labels, for a test set with incomplete labels.
CORRECTED = tuple(f"corrected_{name}" for name in _AVERAGES)
NAMES = NAIVE + CORRECTED


def measure(
    truth: csr_array, probabilities: np.ndarray, predicted: np.ndarray, training: csr_array, c: float | None
) -> dict[str, float]:
    """Return the metrics by name.

    Parameters
    ----------
    truth : csr_array of bool, shape (n, q)
        Labels of the test instances.
    probabilities : ndarray of float32, shape (n, q)
    predicted : ndarray of bool, shape (n, q)
    training : csr_array of bool, shape (m, q)
        Labels of the training instances before any were removed: for the propensities of Jain et al.
    c : float or None
        Label frequency of `truth`; None: its labels are complete, and nothing is corrected.

    Returns
    -------
    dict
        `NAIVE`, without propensity-scored ones if there are too few training instances; with c, `CORRECTED` too.
    """
    label_sets, ranking = LabelSetMetrics(), RankingMetrics()
    scores = csr_array(
        (
            probabilities.ravel(),
            np.tile(np.arange(probabilities.shape[1]), len(probabilities)),
            np.arange(len(probabilities) + 1) * probabilities.shape[1],
        ),
        shape=probabilities.shape,
    )
    label_sets.add(truth, csr_array(predicted))
    ranking.add(truth, scores)
    metrics = label_sets.results() | ranking.results()
    if training.shape[0] >= FEWEST_INSTANCES:
        scored = PropensityScoredMetrics(Propensities.of_annotations([training]))
        scored.add(truth, scores)
        metrics |= scored.results()
    if c is not None:
        estimates = corrected_metrics(label_sets, c)
        metrics |= {f"corrected_{name}": float(estimates[name]) for name in _AVERAGES}
    return metrics
