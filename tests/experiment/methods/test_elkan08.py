import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score

from mpu_cli.core.features import Features
from mpu_cli.core.frequency.estimators import FEWEST_ANNOTATIONS
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.sgd import Settings
from mpu_cli.errors import MpuError
from mpu_cli.experiment.methods import elkan08
from tests.core.simulated import as_features, as_labels, hide, linear_problem, trained


def fit(X, S, **options) -> elkan08.Method:
    made = elkan08.Method(**{"cost": 100.0, "epochs": 10} | options)
    made.fit(as_features(X), S)
    return made


def separable(n: int, missing: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Instances far from the boundary of three labels, of which a share has lost its annotation."""
    rng = np.random.default_rng(0)
    Y = rng.random((n, 3)) < 0.4
    X = np.where(Y, 1.0, -1.0) + rng.normal(0, 0.2, (n, 3))
    return X, Y, hide(Y, missing).toarray()


@pytest.mark.parametrize("method", ["e1", "e2"])
@pytest.mark.parametrize("missing", [0.0, 0.3, 0.6])
def test_c_of_separable_labels_is_found(missing, method):
    X, _, S = separable(3000, missing)
    assert_allclose(fit(X, as_labels(S), cost=1.0, epochs=None, c_method=method).c, 1 - missing, atol=0.05)


@pytest.mark.parametrize("variant", ["ratio", "weighted"])
def test_missing_labels_are_predicted(variant):
    X, Y = linear_problem(3000, 10, 4, slope=8)
    S = hide(Y, 0.6)
    predicted = fit(X, S, elkan_variant=variant).predict(as_features(X)) >= 0.5
    naive = LogisticRegression(C=100)
    of_naive = np.column_stack([naive.fit(X, s).predict(X) for s in S.toarray().T])
    assert f1_score(Y, predicted, average="micro") > f1_score(Y, of_naive, average="micro") + 0.2
    assert f1_score(Y, predicted, average="micro") > 0.8


def test_the_ratio_is_g_by_c():
    X, Y = linear_problem(500, 5, 3)
    made = fit(X, hide(Y, 0.3))
    g = expit(X @ made.model.weights + made.model.bias)
    assert_allclose(made.predict(as_features(X)), np.minimum(g / made.c, 1), rtol=1e-4)


def test_weights_by_hand():
    P = np.array([[0.2, 0.4], [0.6, 0.5], [0.1, 1.0]], np.float32)
    S = as_labels([[True, False], [False, True], [False, False]])
    weights = elkan08.weights(P, S, np.array([0.5, 1.0])).toarray()
    assert_allclose(weights, [[1, 0], [1, 1], [1 / 9, 0]], rtol=1e-6)
    assert weights.dtype == np.float32


def test_learning_from_weights_is_that_of_scikit_learn():
    """Every unlabelled instance twice there, with a weight; once here, with a target between."""
    X, Y = linear_problem(2000, 5, 1)
    S = hide(Y, 0.5).toarray()[:, 0]
    w = np.where(S, 1, np.random.default_rng(0).random(2000) * 0.6).astype(np.float32)
    features, settings = Features.of(as_features(X)), Settings(cost=1.0, step=0.3, epochs=60)
    given = features, elkan08.csr_array(w[:, None]), np.arange(2000), LabelFrequency(np.ones(1)), settings
    ours = trained(*given).probabilities(features)
    oracle = LogisticRegression(C=1.0).fit(
        np.vstack([X, X]), np.repeat([1, 0], 2000), sample_weight=np.concatenate([w, 1 - w])
    )
    assert_allclose(ours[:, 0], oracle.predict_proba(X)[:, 1], atol=0.03)


def test_labels_with_few_annotations_take_the_c_of_all():
    X, Y = linear_problem(1000, 5, 3)
    rare = np.zeros((1000, 2), bool)
    rare[: FEWEST_ANNOTATIONS - 1, 0] = rare[5, 1] = True
    c = fit(X, as_labels(np.hstack([Y, rare]))).c
    assert c[3] == c[4]
    assert len(set(c[:4])) == 4


@pytest.mark.parametrize("variant", ["ratio", "weighted"])
def test_a_sample_without_some_labels(variant, monkeypatch):
    monkeypatch.setattr(elkan08, "_SAMPLE", 50)
    X, Y = linear_problem(400, 5, 3)
    Y[1:, 2] = False
    Y[0, 2] = True
    made = fit(X, as_labels(Y), cost=10.0, epochs=2, elkan_variant=variant)
    assert ((made.c > 0) & (made.c <= 1)).all()
    assert np.isfinite(made.predict(as_features(X))).all()


def test_cost_is_chosen():
    X, Y = linear_problem(300, 5, 2)
    assert ((fit(X, as_labels(Y), cost=None).predict(as_features(X)) >= 0.5) == Y).mean() > 0.75


@pytest.mark.parametrize("options", [{"c_method": "e4"}, {"elkan_variant": "both"}])
def test_other_estimators_and_variants_are_refused(options):
    with pytest.raises(MpuError):
        elkan08.Method(**options)
