"""The most probable labels from Python, and predictions of many labels."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from mpu_cli import MPUClassifier, MpuError, out_of_fold, ranking_metrics
from mpu_cli.api import estimator
from mpu_cli.core import predictions
from tests.golden import refused

QUICK = {"c": 0.8, "C": 30, "epochs": 2, "levels": 1, "eta0": 4.0}
N, Q = 1020, 510


def few(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Draw sixty instances of five labels, of which the fourth is never annotated."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 4))
    S = (X @ rng.normal(size=(4, 5)) > 0.5).astype(int)
    S[:, 3] = 0
    return X, S


@pytest.fixture(scope="module")
def many():
    """A model of 510 labels, each of which has a feature of its own; and its instances."""
    X = csr_array((np.ones(N, np.float32), (np.arange(N), np.arange(N) % Q)), shape=(N, Q))
    return MPUClassifier(**QUICK).fit(X, X.astype(int)), X


@pytest.mark.parametrize(("k", "features"), [(1, "linear"), (np.int64(4), "linear"), (9, "linear"), (2, "rbf")])
def test_the_top_are_the_largest_of_all_probabilities(k, features):
    X, S = few()
    model = MPUClassifier(**QUICK | {"features": features}, classes=["e", "d", "c", "b", "a"]).fit(X, S)
    probabilities, top = model.predict_proba(X), model.predict_top(X, k)
    assert (top.shape, top.dtype) == (S.shape, np.float32)
    learned = [0, 1, 2, 4]
    for i, row in enumerate(probabilities):
        best = sorted(learned, key=lambda j: -row[j])[:k]
        assert top[[i]].indices.tolist() == sorted(best)
        np.testing.assert_array_equal(top[[i]].data, row[sorted(best)])


@pytest.mark.slow
def test_of_many_labels_so_many_are_predicted_and_ranked(many):
    model, X = many
    top = model.predict_top(X[:50], 30)
    assert (np.diff(top.indptr) == 30).all()
    assert top.shape == (50, Q)
    assert ranking_metrics(X[:50].astype(int), top)["precision_at_1"] == 1
    assert model.predict_top(X[:50], 1).indices.tolist() == list(range(50))
    np.testing.assert_array_equal(model.predict(X[:50]).indices, np.arange(50))


@pytest.mark.slow
@pytest.mark.parametrize("labels", ["few", "many"])
def test_neither_slices_nor_threads_show(labels, many, monkeypatch):
    model, X = many
    if labels == "few":
        X, S = few()
        model = MPUClassifier(**QUICK).fit(X, S)
    expected = [model.predict_proba(X), csr_array(model.predict(X)).toarray(), model.predict_top(X, 3).toarray()]
    monkeypatch.setattr(estimator, "_PROBABILITIES", 3500)
    model.set_params(n_jobs=2)
    found = [model.predict_proba(X), csr_array(model.predict(X)).toarray(), model.predict_top(X, 3).toarray()]
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)  # a BLAS may sum in another order
    model.set_params(n_jobs=-1)


def test_an_array_that_does_not_fit_is_refused_and_the_top_is_not(many, monkeypatch):
    model, X = many
    monkeypatch.setattr(predictions, "available_memory", lambda: 4 * N * Q - 1)
    with refused(MpuError):
        model.predict_proba(X)
    with refused(MpuError):
        out_of_fold(X, X.astype(int), MPUClassifier(**QUICK))
    assert (model.predict_top(X, 2).nnz, model.predict(X).nnz) == (2 * N, N)
    with refused(ValueError):
        model.predict_top(X, 0)
