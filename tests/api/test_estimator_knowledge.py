"""`MPUClassifier` learns from what is known of labels, also from features of labels."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV

from mpu_cli import MPUClassifier, load, out_of_fold
from mpu_cli.svmlight.reader import Dataset
from mpu_cli.svmlight.writer import write_instances
from tests.core.test_prior import named_problem
from tests.golden import refused

QUICK = {"c": 0.5, "C": 30, "epochs": 2, "levels": 1}
OF_NAMES = QUICK | {"eta0": 4.0, "prior": 15.0}


def test_complete_instances_are_as_c_1(dense):
    X, truth, _ = dense
    known = MPUClassifier(**QUICK).fit(X, truth, fully_labelled=np.ones(len(X), bool))
    plain = MPUClassifier(**QUICK | {"c": 1}).fit(X, truth)
    np.testing.assert_allclose(known.predict_proba(X), plain.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize("container", [np.asarray, csr_array])
def test_what_was_reviewed_outweighs_the_annotation(dense, container):
    X, truth, S = dense
    reviewed = np.where(truth, 1, -1) * (np.arange(len(X)) < 120)[:, None]
    wrong = S.copy()
    wrong[:120] = 1 - truth[:120]  # and yet the verdicts say what is true
    models = [MPUClassifier(**QUICK).fit(X, labels, reviewed=container(reviewed)) for labels in (S, wrong)]
    assert models[1].score(X, truth) > 0.9
    assert MPUClassifier(**QUICK).fit(X, wrong).score(X, truth) < 0.7


def test_a_label_that_was_only_found_by_review_is_learned(dense):
    X, truth, S = dense
    labels = S.copy()
    labels[:, 0] = 0
    reviewed = np.zeros_like(S)
    reviewed[:, 0] = np.where(truth[:, 0], 1, -1)
    probabilities = MPUClassifier(**QUICK).fit(X, labels, reviewed=csr_array(reviewed)).predict_proba(X)[:, 0]
    assert roc_auc_score(truth[:, 0], probabilities) > 0.95


@pytest.mark.parametrize(
    "known",
    [
        {"reviewed": np.ones((240, 3))},
        {"reviewed": np.full((240, 4), 2)},
        {"ignored": np.full((240, 4), -1)},
        {"fully_labelled": [True]},
        {"fully_labelled": np.zeros(240)},
        {"reviewed": np.ones((240, 4)), "ignored": np.ones((240, 4))},
        *({"label_features": np.zeros(shape)} for shape in ((3, 23), (4, 22), (4,))),
    ],
)
def test_knowledge_of_other_shape_or_values_is_refused(dense, known):
    with refused(ValueError):
        MPUClassifier(**QUICK).fit(dense[0], dense[2], **known)


def test_cross_validation_takes_its_part_of_what_is_known(dense):
    X, truth, S = dense
    reviewed = csr_array(np.where(truth, 1, -1))
    search = GridSearchCV(MPUClassifier(**QUICK), {"C": [1, 30]}, cv=2, error_score="raise")
    search.fit(X, S, reviewed=reviewed, fully_labelled=np.zeros(len(X), bool))
    assert search.best_score_ > 0


@pytest.fixture(scope="module")
def named():
    """Features, annotated labels the first of which never is, true labels, features of labels."""
    X, S, truth, V = named_problem()
    S = S.tolil()
    S[:, 0] = False
    return X, S.tocsr().astype(int), truth, V


def test_a_label_that_is_never_annotated_is_learned(named):
    X, S, truth, V = named
    model = MPUClassifier(**OF_NAMES).fit(X, S, label_features=V)
    p, true = model.predict_proba(X)[:, 0], truth[:, [0]].toarray()[:, 0]
    assert p[true].mean() > 5 * p[~true].mean()
    assert np.isfinite(model.thresholds_).all()
    plain = MPUClassifier(**OF_NAMES | {"prior": "auto"}).fit(X, S)
    assert not plain.predict_proba(X)[:, 0].any()
    for without in (MPUClassifier(**OF_NAMES).fit, lambda X, S: out_of_fold(X, S, MPUClassifier(**OF_NAMES))):
        with refused(ValueError, "prior is 15"):
            without(X, S)


@pytest.mark.slow
def test_the_command_line_gives_the_same_model(named, tmp_path, run):
    X, S, _, V = named
    with (tmp_path / "data.svm").open("wb") as file:
        write_instances(file, Dataset(S.astype(bool), X))
    with (tmp_path / "labels.svm").open("wb") as file:
        write_instances(file, Dataset(type(V)(np.eye(60, dtype=bool)), V))
    options = [text for name, value in OF_NAMES.items() for text in (f"--{name.replace('C', 'cost')}", value)]
    given = ("--label-features", tmp_path / "labels.svm", "-o", tmp_path / "data.mpu")
    run.ok("train", tmp_path / "data.svm", *options, *given)
    model = MPUClassifier(**OF_NAMES, classes=np.arange(60)).fit(X, S, label_features=V)
    np.testing.assert_array_equal(load(tmp_path / "data.mpu").predict_proba(X), model.predict_proba(X))
