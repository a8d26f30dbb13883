"""`MPUClassifier` with features of labels."""

import numpy as np
import pytest

from mpu_cli import MPUClassifier, MpuWarning, load
from mpu_cli.svmlight.dataset import Dataset
from mpu_cli.svmlight.writer import write_instances
from tests.core.test_prior import named_problem
from tests.golden import refused

QUICK = {"c": 0.5, "C": 30, "eta0": 4.0, "epochs": 2, "levels": 1, "prior": 15.0}

pytestmark = pytest.mark.filterwarnings(f"ignore::{MpuWarning.__module__}.MpuWarning")


@pytest.fixture(scope="module")
def problem():
    """Features, annotated labels the first of which never is, true labels, features of labels."""
    X, S, truth, V = named_problem()
    S = S.tolil()
    S[:, 0] = False
    return X, S.tocsr().astype(int), truth, V


def test_a_label_that_is_never_annotated_is_learned(problem):
    X, S, truth, V = problem
    model = MPUClassifier(**QUICK).fit(X, S, label_features=V)
    p, true = model.predict_proba(X)[:, 0], truth[:, [0]].toarray()[:, 0]
    assert p[true].mean() > 5 * p[~true].mean()
    assert np.isfinite(model.thresholds_).all()
    without = MPUClassifier(**QUICK).fit(X, S)
    assert not without.predict_proba(X)[:, 0].any()


@pytest.mark.slow
def test_the_command_line_gives_the_same_model(problem, tmp_path, run):
    X, S, _, V = problem
    with (tmp_path / "data.svm").open("wb") as file:
        write_instances(file, Dataset(S.astype(bool), X))
    with (tmp_path / "labels.svm").open("wb") as file:
        numbers = np.eye(60, dtype=bool)
        write_instances(file, Dataset(type(V)(numbers), V))
    options = [text for name, value in QUICK.items() for text in (f"--{name.replace('C', 'cost')}", value)]
    given = ("--label-features", tmp_path / "labels.svm", "-o", tmp_path / "data.mpu")
    run.ok("train", tmp_path / "data.svm", *options, *given)
    model = MPUClassifier(**QUICK, classes=np.arange(60)).fit(X, S, label_features=V)
    np.testing.assert_array_equal(load(tmp_path / "data.mpu").predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("shape", [(59, 240), (60, 239), (60,)])
def test_features_of_another_shape_are_refused(problem, shape):
    X, S, _, _ = problem
    with refused(ValueError):
        MPUClassifier(**QUICK).fit(X, S, label_features=np.zeros(shape))
