"""Ways of losing labels: each is tried for what it says of the chances."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression

from benchmarks.losing import SCHEMES, annotated

RNG = np.random.default_rng(0)
X = csr_array(RNG.normal(size=(3000, 3)).astype(np.float32))
Y = csr_array(RNG.random((3000, 4)) < [0.5, 0.3, 0.1, 0.02])


def kept_shares(scheme: str, kept: float = 0.5, seed: int = 0) -> np.ndarray:
    left = annotated(scheme, X, Y, kept, seed)
    assert (left.toarray() <= Y.toarray()).all()
    return left.sum(axis=0) / Y.sum(axis=0)


def test_uniform_is_the_same_for_all():
    np.testing.assert_allclose(kept_shares("uniform", 0.3), 0.3, atol=0.2)  # of 60 instances: 3 errors
    assert annotated("uniform", X, Y, 0.3, 0).nnz == pytest.approx(0.3 * Y.nnz, abs=3 * np.sqrt(0.21 * Y.nnz))


def test_rare_labels_are_missed_more():
    size = np.log(Y.sum(axis=0))
    expected = 0.5 * (0.4 + 1.1 * (size - size.min()) / np.ptp(size))
    np.testing.assert_allclose(
        np.mean([kept_shares("rare", 0.5, seed) for seed in range(50)], axis=0), expected, atol=0.03
    )


def test_one_label_of_each_is_kept_and_each_as_often():
    left = [annotated("single", X, Y, 0.9, seed).toarray() for seed in range(100)]
    assert all((S.sum(axis=1) == Y.toarray().any(axis=1)).all() for S in left)
    two = Y.toarray().sum(axis=1) == 2
    kept = np.mean(left, axis=0)[two][Y.toarray()[two]]
    assert np.abs(kept - 0.5).max() < 5 * 0.05  # standard errors, of a share of 100
    assert kept.mean() == 0.5


@pytest.mark.slow
def test_what_the_features_show_less_is_missed_more():
    few, of_label = X[:1000], csr_array(Y.toarray()[:1000, :1])
    rows = np.flatnonzero(of_label.toarray())
    scores = LogisticRegression(C=1).fit(few, of_label.toarray()[:, 0]).decision_function(few[rows])
    expected = 0.5 + 0.4 * (2 * np.argsort(np.argsort(scores)) / (len(rows) - 1) - 1)
    np.testing.assert_allclose(SCHEMES["hard"](few, of_label, 0.5, RNG), expected)
    drawn = (annotated("hard", few, of_label, 0.5, seed).toarray()[rows, 0] for seed in range(200))
    assert np.abs(np.mean(list(drawn), axis=0) - expected).max() < 5 * np.sqrt(0.25 / 200)
