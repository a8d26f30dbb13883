"""A label frequency that annotations refute, and a label that tells nothing of it, from Python."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import mpu_cli
from tests.golden import refused


@pytest.fixture
def with_frequent():
    rng = np.random.default_rng(1)
    S = (rng.random((475, 3)) < 0.2).astype(int)
    S[:, 1] = rng.permutation(475) < 375
    return rng.normal(size=(475, 4)), S


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
