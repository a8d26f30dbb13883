"""Metrics on arrays: of label sets with incomplete true labels, and of rankings."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, issparse

from mpu_cli.api import arrays
from mpu_cli.api.arrays import as_csr, indicator
from mpu_cli.core.features import entry_rows, with_values
from mpu_cli.core.predictions import stored
from mpu_cli.errors import DataError
from mpu_cli.evaluation import metrics
from mpu_cli.evaluation.compare import Counts
from mpu_cli.evaluation.compare import intervals as bootstrap_intervals
from mpu_cli.evaluation.metrics import RankingMetrics
from mpu_cli.runtime import options


def corrected_metrics(
    y_true: Any, y_pred: Any, c: ArrayLike, *, intervals: bool = False, ignored: Any = None
) -> dict[str, Any]:
    """Estimate precision, recall and F1 on complete labels from incomplete true labels.

    A label that is predicted and true is annotated with probability c, whatever the features. So the usual precision
    is too low by the factor c, and the usual recall is correct.

    The setting is that of Kong et al., SDM 2014, Section 2.1, and Elkan and Noto, KDD 2008, Section 2.

    Parameters
    ----------
    y_true : array_like, sparse matrix or data frame, shape (n, q)
        Annotated labels; NaN if a cell does not count.
    y_pred : array_like, sparse matrix or data frame, shape (n, q)
        Labels predicted by models that have not seen these annotations.
    c : float or array_like that broadcasts to (n, q)
        Label frequency of `y_true`, in (0, 1]: a single number, or one for each label (shape (q,)), for each instance
        (shape (n, 1)), or for each cell. 1 gives the usual metrics.
    intervals : bool
        Also estimate 90 % intervals, by bootstrapping the instances. They cover the sampling of the instances and of
        the annotations among their labels. They do not cover errors in c.
    ignored : array_like or sparse matrix, shape (n, q), optional
        1 if a cell does not count.

    Returns
    -------
    dict
        ``{micro,macro}_{precision,recall,f1}``; ``clipped``, whether the micro-averaged precision exceeded 1 and was
        clipped, a sign that c is too small; ``clipped_labels``, the number of labels whose precision exceeds 1; and if
        requested ``intervals``, a dictionary of pairs. Macro averages are over the labels that are annotated or
        predicted at least once.

    Notes
    -----
    If c is correct, macro precision is unbiased: of the mean of hits / (c predicted), only the mean is clipped to 1,
    because clipping each label biases it downwards (true value 0.438 on bibtex with half of the labels missing; 0.410
    clipped, 0.439 not clipped). Recall on the annotated labels is also unbiased, if c is the same wherever a label is
    true. F1 is a ratio of estimates, and biased if there are few annotations. Labels that are true but neither
    annotated nor predicted are not in the macro averages, because they cannot be detected.

    Examples
    --------
    >>> from mpu_cli import corrected_metrics
    >>> metrics = corrected_metrics([[1, 0], [0, 0], [0, 1], [0, 0]], [[1, 0], [1, 0], [0, 1], [0, 1]], c=0.5)
    >>> metrics["micro_precision"], metrics["micro_recall"], metrics["micro_f1"]
    (1.0, 1.0, 1.0)
    """
    predicted = indicator(options.in_order_of(options.columns_of(y_true), y_pred, "y_pred"), "y_pred")
    truth, predicted, _ = arrays.compared(y_true, "y_true", predicted, "y_pred has", ignored)
    weighted = _weighted(truth, options.columns_of(y_true), c)
    occurring = np.union1d(weighted.indices, predicted.indices)
    counts = Counts([(weighted, predicted)], labels=occurring, incomplete=True)
    sums = (part.sum(axis=0)[:-1] for part in (counts.hits, counts.predicted, counts.truth))
    found: dict[str, Any] = metrics.corrected_metrics(*sums)
    return found | ({"intervals": bootstrap_intervals(counts)} if intervals else {})


def incomplete_f1_scorer(c: ArrayLike) -> Any:
    """Make a scorer for model selection on incomplete labels: the expected micro-F1 on complete labels.

    scikit-learn's own scorers count a prediction that is true but not annotated as an error.

    Parameters
    ----------
    c : float or array_like of shape (q,)
        Label frequency of the annotations, in (0, 1]; use the same for all models that you compare.

    Returns
    -------
    callable
        For `scoring` of `GridSearchCV` and `cross_val_score`: ``micro_f1`` of `corrected_metrics`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from mpu_cli import incomplete_f1_scorer
    >>> X = np.arange(120)[:, None] % 4
    >>> S = (X == [0, 1]).astype(int)
    >>> S[:60] = 0                                     # half of the labels is missing
    >>> trees = DecisionTreeClassifier(class_weight="balanced")
    >>> search = GridSearchCV(trees, {"max_depth": [1, 3]}, scoring=incomplete_f1_scorer(0.5)).fit(X, S)
    >>> search.best_params_
    {'max_depth': 3}
    """
    options.checked(options.PerLabel(options.LEAST_FREQUENCY, 1), "c", c)
    return partial(_expected_micro_f1, c)


def _expected_micro_f1(c: ArrayLike, estimator: Any, X: Any, y: Any) -> float:
    names = getattr(estimator, "classes_", None)
    if isinstance(names, np.ndarray) and names.tolist() != list(range(len(names))):  # scikit-learn's are only numbers
        y = options.in_order_of(names, y, "y", "the classes")
    return float(corrected_metrics(y, estimator.predict(X), c)["micro_f1"])


def ranking_metrics(
    y_true: Any,
    scores: Any,
    *,
    k: int | Sequence[int] = (1, 3, 5),
    propensities: ArrayLike | None = None,
    c: ArrayLike | None = None,
    ignored: Any = None,
) -> dict[str, float]:
    """Compare scores with true labels, by the ranking metrics of `mpu evaluate`.

    Scores may be sparse: for each instance, only those of the most probable labels. Unlisted labels rank below all
    listed ones: they tie for the last place among the labels that are true or listed anywhere, and never count as
    retrieved, even if k is larger than the list.

    Source: PSP@k and PSnDCG@k: Jain, Prabhu, Varma, KDD 2016, Section 4.

    Parameters
    ----------
    y_true : array_like, sparse matrix or data frame, shape (n, q)
        True labels: 1 if the label is true, else 0; NaN if a cell does not count: it gets no rank.
    scores : array_like or sparse matrix, shape (n, q)
        Larger is more probable. In a sparse matrix, the stored entries are the listed labels, even if a stored score
        is 0.
    k : int or sequence of int
        Cut-offs.
    propensities : array_like of float that broadcasts to (n, q), optional
        In (0, 1]: the probability that a true label is annotated, from `jain_propensities` or from estimated or
        reviewed label frequencies; for each label, shape (q,), for each instance, (n, 1), or for each cell.
    c : float or array_like that broadcasts to (n, q), optional
        Label frequency of `y_true`, if it is incomplete, as for `corrected_metrics`.
    ignored : array_like or sparse matrix, shape (n, q), optional
        1 if a cell does not count.

    Returns
    -------
    dict
        ``precision_at_K``, ``ndcg_at_K``, ``recall_at_K`` and ``coverage_at_K`` for each cut-off,
        ``label_ranking_average_precision``, ``coverage_error`` and ``one_error``; with `propensities` also
        ``psp_at_K`` and ``psndcg_at_K``; with `c` also ``corrected_precision_at_K``, an estimate on complete labels.

    Notes
    -----
    If c is correct, the corrected precision is unbiased: each hit counts 1 / c, up to a mean of 1.

    Examples
    --------
    >>> from mpu_cli import ranking_metrics
    >>> metrics = ranking_metrics([[1, 0, 1], [0, 1, 0]], [[0.9, 0.2, 0.1], [0.7, 0.3, 0.2]], k=[1, 2])
    >>> metrics["precision_at_1"], metrics["recall_at_2"], round(metrics["coverage_at_2"], 3)
    (0.5, 0.75, 0.667)
    """
    scores = options.in_order_of(options.columns_of(y_true), scores, "scores")
    listed = arrays.checked(scores, "scores", dtype=[np.float64, np.float32])  # rounded, different ones would tie
    listed = as_csr(listed) if issparse(listed) else stored(listed)
    truth, listed, unknown = arrays.compared(y_true, "y_true", listed, "scores have", ignored)
    cutoffs = tuple(options.checked(options.Integer(1), "k", cutoff) for cutoff in np.atleast_1d(np.asarray(k, object)))
    if not cutoffs:
        raise DataError("k is empty: give at least one cut-off, such as 5")
    known = slice(None) if unknown is None else np.flatnonzero(np.diff(unknown.indptr) < truth.shape[1])
    columns, by_propensity = options.columns_of(y_true), None
    if propensities is not None:
        by_propensity = _weighted(truth, columns, propensities, "propensities")[known]
    weighted = truth if c is None else _weighted(truth, columns, c)
    ranking = RankingMetrics(cutoffs)
    ranking.add(weighted[known], listed[known], by_propensity)
    corrected = {} if c is None else ranking.corrected()
    return (
        ranking.results()
        | ({} if propensities is None else ranking.propensity_scored())
        | {f"corrected_{name}": value for name, value in corrected.items()}
    )


def jain_propensities(y: Any, *, a: float = options.PROPENSITY_A, b: float = options.PROPENSITY_B) -> np.ndarray:
    """Compute each label's propensity from its number of annotations, by the model of Jain et al. (2016).

    The model was fitted to two other collections: it does not measure how many of your annotations are missing. If you
    have a reviewed sample, prefer its label frequencies (`c_from_review`), which are measured.

    Source: Jain, Prabhu, Varma, KDD 2016, Section 4. For a critique of such models: Schultheis, Wydmuch, Babbar,
    Dembczyński, "On Missing Labels, Long-tails and Propensities in Extreme Multi-label Classification", KDD 2022.

    Parameters
    ----------
    y : array_like, sparse matrix or data frame, shape (n, q)
        Annotated labels of the training instances; n at least 3.
    a, b : float
        Constants A (at least 0) and B (above 0). (0.5, 0.4) were fitted to Wikipedia and (0.6, 2.6) to Amazon.

    Returns
    -------
    ndarray of float64, shape (q,), in (0, 1]

    Examples
    --------
    >>> from mpu_cli import jain_propensities
    >>> jain_propensities([[1, 0], [1, 0], [1, 1], [1, 0]]).round(3)
    array([0.8  , 0.721])
    """
    annotated = indicator(y)
    a = options.checked(options.PROPENSITY_A_RANGE, "a", a)
    b = options.checked(options.PROPENSITY_B_RANGE, "b", b)
    counts = np.bincount(annotated.indices, minlength=annotated.shape[1])
    return metrics.jain_propensities(counts, annotated.shape[0], a, b)


def _weighted(truth: csr_array, names: Any, c: ArrayLike, name: str = "c") -> csr_array:
    """Return the weight 1 / c of each annotation: csr_array of float64, shape (n, q)."""
    frequencies = np.asarray(
        options.checked(options.PerLabel(options.LEAST_FREQUENCY, 1), name, options.in_order_of(names, c, name))
    )
    try:
        of_cells = np.broadcast_to(frequencies, truth.shape)
    except ValueError:
        sizes = f"{name} has shape {frequencies.shape}, and y_true {truth.shape}"
        raise DataError(f"{sizes}: give one number, or one for each label, instance (in a column) or cell") from None
    return with_values(truth, 1 / of_cells[entry_rows(truth), truth.indices])
