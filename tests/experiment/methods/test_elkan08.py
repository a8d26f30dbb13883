import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score

from mpu_cli.core.frequency.estimators import FEWEST_ANNOTATIONS
from mpu_cli.experiment.methods import elkan08
from tests.core.simulated import as_features, as_labels, hide, linear_problem


def fit(X, S, **options) -> elkan08.Method:
    made = elkan08.Method(**{"cost": 100.0, "epochs": 10} | options)
    made.fit(as_features(X), S)
    return made


@pytest.mark.parametrize("missing", [0.0, 0.3, 0.6])
def test_c_of_separable_labels_is_found(missing):
    """Instances are far from the boundary of three labels, of which a share has lost its annotation."""
    rng = np.random.default_rng(0)
    Y = rng.random((3000, 3)) < 0.4
    X = np.where(Y, 1.0, -1.0) + rng.normal(0, 0.2, Y.shape)
    assert_allclose(fit(X, hide(Y, missing), cost=1.0, epochs="auto").c, 1 - missing, atol=0.05)


def test_missing_labels_are_predicted():
    X, Y = linear_problem(3000, 10, 4, slope=8)
    S = hide(Y, 0.6)
    predicted = fit(X, S).predict(as_features(X)) >= 0.5
    naive = LogisticRegression(C=100)
    of_naive = np.column_stack([naive.fit(X, s).predict(X) for s in S.toarray().T])
    assert f1_score(Y, predicted, average="micro") > f1_score(Y, of_naive, average="micro") + 0.2
    assert f1_score(Y, predicted, average="micro") > 0.8


def test_labels_with_few_annotations_take_the_c_of_all():
    X, Y = linear_problem(1000, 5, 3)
    rare = np.zeros((1000, 2), bool)
    rare[: FEWEST_ANNOTATIONS - 1, 0] = rare[5, 1] = True
    c = fit(X, as_labels(np.hstack([Y, rare]))).c
    assert (c[3], len(set(c[:4]))) == (c[4], 4)


def test_a_sample_without_some_labels():
    X, Y = linear_problem(400, 5, 3)
    Y[1:, 2] = False
    Y[0, 2] = True
    made = fit(X, as_labels(Y), cost=10.0, epochs=2, sample=50)
    assert ((made.c > 0) & (made.c <= 1)).all()
    assert np.isfinite(made.predict(as_features(X))).all()
