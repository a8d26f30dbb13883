"""A label frequency that annotations refute, and a label that tells nothing of it, from Python."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import mpu_cli
from mpu_cli.errors import MpuWarning
from tests.golden import refused


@pytest.fixture
def with_frequent():
    rng = np.random.default_rng(1)
    S = (rng.random((475, 3)) < 0.2).astype(int)
    S[:, 1] = rng.permutation(475) < 375
    return rng.normal(size=(475, 4)), S


@pytest.fixture
def with_label_of_all():
    rng = np.random.default_rng(2)
    Y = rng.random((1500, 4)) < 0.2
    S = np.column_stack([np.ones(1500), Y & (rng.random(Y.shape) < 0.6)])
    return Y + 0.05 * rng.normal(size=Y.shape), S


@pytest.mark.parametrize(
    "use",
    [
        lambda X, S: mpu_cli.MPUClassifier(c=0.5, levels=1, C=1.0).fit(X, S),
        lambda X, S: mpu_cli.IncompleteLabelClassifier(LogisticRegression(), c=0.5).fit(X, S),
        lambda X, S: mpu_cli.calibrate(S, scores=np.full(S.shape, 0.5), c=0.5),
        lambda X, S: mpu_cli.choose_thresholds(np.full(S.shape, 0.5), S, c=0.5),
    ],
    ids=["MPUClassifier", "IncompleteLabelClassifier", "calibrate", "choose_thresholds"],
)
def test_a_c_that_annotations_refute_is_refused(with_frequent, use):
    with refused(ValueError):
        use(*with_frequent)


def test_a_column_of_1_and_nan_is_refuted_by_any_other_c(with_frequent):
    X, S = with_frequent
    S = np.where(S == 1, 1.0, np.where(np.arange(3) == 1, np.nan, 0.0))
    with refused(ValueError):
        mpu_cli.MPUClassifier(c=0.5, levels=1, C=1.0).fit(X, S)


@pytest.mark.parametrize("unknown", [False, True])
def test_a_label_of_all_instances_does_not_decide_c(with_label_of_all, unknown):
    X, S = with_label_of_all
    if unknown:
        S[:700, 0] = np.nan
    with pytest.warns(MpuWarning, match="label 0, which says nothing about c"):
        estimate = mpu_cli.estimate_c(X, S)
    assert estimate.c == pytest.approx(0.6, abs=0.05)
    assert 0 not in estimate.labels
    with pytest.warns(MpuWarning, match="label 0, which says nothing about c"):
        model = mpu_cli.MPUClassifier(levels=1, C=1.0).fit(X, S)
    assert model.c_[0] == 1
    np.testing.assert_allclose(model.c_[1:], estimate.c)
