"""Classifiers of scikit-learn in `mpu experiment`: `sklearn:NAME:PARAMETER=VALUE`."""

import csv

import numpy as np
import pytest
from scipy.special import expit
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from mpu_cli import methods
from mpu_cli.core.problem import Problem
from mpu_cli.errors import MpuError
from mpu_cli.methods.scikit_learn import Options
from mpu_cli.runtime.run import Run
from tests.core.simulated import as_features, hide, linear_problem

X, Y = linear_problem(150, 5, 4)
FEATURES, LABELS = as_features(X), hide(Y, 0.3)
S = LABELS.toarray().astype(int)


def probabilities(*parts, labels=LABELS, features=FEATURES):
    fitted = methods.fit("sklearn", Problem(FEATURES, labels), Options.parse(parts), Run(seed=3))
    return fitted.model.probabilities(features)


def test_a_forest_learns_all_labels_at_once():
    forest = RandomForestClassifier(20, max_features="sqrt", random_state=3).fit(FEATURES, S)
    expected = np.stack([of_label[:, 1] for of_label in forest.predict_proba(FEATURES)], axis=1)
    found = probabilities("RandomForestClassifier", "n_estimators=20", "max_features=sqrt")
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_another_learns_one_by_one():
    expected = OneVsRestClassifier(LogisticRegression(C=10)).fit(FEATURES, S).predict_proba(FEATURES)
    np.testing.assert_allclose(probabilities("sklearn.linear_model.LogisticRegression", "C=10"), expected, rtol=1e-5)


def test_decisions_are_made_probabilities():
    machine = OneVsRestClassifier(LinearSVC(random_state=3)).fit(FEATURES, S)
    expected = expit(machine.decision_function(FEATURES))
    found = probabilities("LinearSVC")
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert ((found >= 0.5) == machine.predict(FEATURES)).all()


@pytest.mark.parametrize("name", ["LogisticRegression", "RandomForestClassifier", "LinearSVC"])
def test_one_label(name):
    found = probabilities(name, labels=LABELS[:, [0]])
    assert found.shape == (150, 1)
    assert found[S[:, 0] == 1].mean() > found[S[:, 0] == 0].mean() + 0.1


def test_features_beyond_those_of_the_training_do_not_count():
    wide = as_features(np.hstack([X, np.ones((150, 2))]))
    np.testing.assert_array_equal(probabilities("LinearSVC", features=wide), probabilities("LinearSVC"))


@pytest.mark.parametrize(
    ("parts", "problem"),
    [
        ((), "name a classifier, such as RandomForestClassifier:n_estimators=400"),
        (("Forest",), "there is no classifier Forest"),
        (("nowhere.Forest",), "there is no classifier nowhere.Forest"),
        (("sklearn.linear_model.Forest",), "there is no classifier sklearn.linear_model.Forest"),
        (("LinearSVC", "trees=3"), "LinearSVC cannot be made: .*'trees'"),
        (("sklearn.linear_model.Ridge",), "sklearn.linear_model.Ridge is no classifier"),
    ],
)
def test_what_is_no_classifier_is_told_before_any_data_are_read(run, tmp_path, parts, problem):
    with pytest.raises(MpuError, match=problem):
        Options.parse(parts)
    result = run("experiment", "nowhere.svm", "--out", tmp_path / "out", "--methods", ":".join(("br,sklearn", *parts)))
    assert result.exit_code == 2
    assert "Traceback" not in result.stderr


def test_what_it_cannot_learn_is_an_error():
    with pytest.raises(MpuError, match=r"LinearSVC cannot learn from these data: .*C"):
        probabilities("LinearSVC", "C=-1")


def test_it_is_compared_in_the_same_folds(run, digits, tmp_path):
    options = ("--folds", 3, "--run-folds", 1, "--missing-rates", "0.3", "--instances", 300, "--out", tmp_path / "out")
    compared = "br:epochs=3:cost=10,sklearn:RandomForestClassifier:n_estimators=30"
    result = run("experiment", digits[0], *options, "--methods", compared)
    assert result.exit_code == 0, result.stderr
    with (tmp_path / "out" / "results.csv").open() as file:
        rows = {row["method"]: row for row in csv.DictReader(file)}
    assert sorted(rows) == sorted(compared.split(","))  # in the order in which they ended
    assert float(rows["sklearn:RandomForestClassifier:n_estimators=30"]["micro_f1"]) > 0.3
    assert not any(row["error"] for row in rows.values())
