"""Estimates of precision, recall and F1 on complete labels, from incomplete ones.

The setting is that of Kong et al., "Large-Scale Multi-Label Learning with Incomplete Label Assignments" (SDM 2014):
every annotated label is true, but only a share c of the true labels, the label frequency, is annotated. Which ones are
annotated does not depend on the features ("selected completely at random"; Elkan and Noto, KDD 2008).

Predictions use only the features. So they are independent of which true labels are annotated, and a label that is both
predicted and true is annotated with probability c::

    E[annotated & predicted] = c * (true & predicted)        E[annotated] = c * true

Dividing by c estimates the counts on complete labels, and from them::

    precision = (annotated & predicted) / (c * predicted)
    recall    = (annotated & predicted) / annotated          c cancels: the recall of incomplete labels is right
    F1        = 2 (annotated & predicted) / (c * predicted + annotated)

The estimated precision can exceed 1, by chance or because c is too small. It is then cut to 1. F1 is the harmonic mean
of recall and the precision after the cut.
"""

from typing import NamedTuple

import numpy as np

from mpu_cli.evaluation.metrics import LabelSetMetrics, divide


class Corrected(NamedTuple):
    """Estimates on complete labels, float64, one per element of the counts."""

    precision: np.ndarray
    recall: np.ndarray
    f1: np.ndarray
    clipped: np.ndarray  # bool: the estimate of precision exceeded 1 and was cut


def corrected(hits: np.ndarray, predicted: np.ndarray, annotated: np.ndarray, c: float | np.ndarray) -> Corrected:
    """Estimate precision, recall and F1 on complete labels.

    Parameters
    ----------
    hits, predicted, annotated : array_like, broadcastable
        Number of labels that are both predicted and annotated; predicted; annotated.
    c : float or array_like
        Label frequency, in (0, 1]; 1 gives the uncorrected values.

    Returns
    -------
    Corrected
        Values are 0 where the denominator is 0.

    Examples
    --------
    100 labels are predicted, and 40 of the 50 annotated ones are among them. Half of the true labels are annotated.

    >>> estimate = corrected(hits=40, predicted=100, annotated=50, c=0.5)
    >>> print(f"{estimate.precision:.2f} {estimate.recall:.2f} {estimate.f1:.2f}")
    0.80 0.80 0.80
    """
    precision = divide(hits, np.multiply(predicted, c))
    clipped = precision > 1
    precision = np.minimum(precision, 1)
    recall = divide(hits, annotated)
    f1 = divide(2 * precision * recall, precision + recall)
    return Corrected(precision, recall, f1, clipped)


def corrected_metrics(counts: LabelSetMetrics, c: float) -> dict[str, float | bool | int]:
    """Estimate micro and macro precision, recall and F1 on complete labels.

    Macro averages are over the labels that are annotated or predicted at least once. With rare labels they rest on few
    annotations per label. They are then too low on average, since the cut to 1 removes only overestimates.

    Parameters
    ----------
    counts : LabelSetMetrics
        Counts against the incomplete labels.
    c : float
        Label frequency, in (0, 1].

    Returns
    -------
    dict
        ``{micro,macro}_{precision,recall,f1}``; ``clipped``: whether the micro-averaged precision exceeded 1 and was
        cut, a sign that c is too small; ``clipped_labels``: for how many labels this happened in the macro average.
    """
    micro = corrected(counts.true_positives.sum(), counts.predicted.sum(), counts.support.sum(), c)
    macro = corrected(counts.true_positives, counts.predicted, counts.support, c)
    names = ("precision", "recall", "f1")
    return {
        **{f"micro_{name}": float(getattr(micro, name)) for name in names},
        **{f"macro_{name}": float(divide(getattr(macro, name).sum(), len(counts.labels))) for name in names},
        "clipped": bool(micro.clipped),
        "clipped_labels": int(macro.clipped.sum()),
    }
