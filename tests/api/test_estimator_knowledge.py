"""`MPUClassifier` learns from what is known of labels."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV

from mpu_cli import MPUClassifier
from tests.golden import refused

QUICK = {"c": 0.5, "C": 30, "epochs": 2, "levels": 1}


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
