"""Bootstrap intervals of micro-averaged metrics: instances are resampled with their label sets."""

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.evaluation.metrics import entries_in, entry_rows, precision_recall_f1

_REPLICATES = 2000
_QUANTILES = (0.05, 0.95)
_DRAWN = 1 << 20  # instances at a time


def micro_intervals(truth: csr_array, predicted: csr_array, seed: int = 0) -> dict[str, tuple[float, float]]:
    """Estimate confidence intervals of metrics of a population, from a sample of its instances.

    Parameters
    ----------
    truth, predicted : csr_array of bool, shapes (n, Q) and (n, R)
        Label sets; n >= 1.
    seed : int

    Returns
    -------
    dict
        90 % percentile intervals of ``micro_precision``, ``micro_recall`` and ``micro_f1``.

    References
    ----------
    Efron and Tibshirani, "An Introduction to the Bootstrap", 1993, Section 13.3.

    Examples
    --------
    >>> labels = csr_array(np.ones((50, 1), bool))
    >>> micro_intervals(labels, labels)["micro_f1"]
    (1.0, 1.0)
    """
    n = truth.shape[0]
    hits = np.bincount(entry_rows(predicted)[entries_in(predicted, truth)], minlength=n)
    counts = np.stack([hits, np.diff(predicted.indptr), np.diff(truth.indptr)])
    rng = np.random.default_rng(seed)
    at_once = max(1, _DRAWN // n)
    sums = [
        counts[:, rng.integers(n, size=(min(at_once, _REPLICATES - start), n))].sum(axis=2)
        for start in range(0, _REPLICATES, at_once)
    ]
    metrics = precision_recall_f1(*np.concatenate(sums, axis=1))
    intervals = np.quantile(metrics, _QUANTILES, axis=1).T.tolist()
    names = ("micro_precision", "micro_recall", "micro_f1")
    return {name: (low, high) for name, (low, high) in zip(names, intervals, strict=True)}
