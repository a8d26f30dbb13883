"""Classifiers of scikit-learn in `mpu experiment`: `MODULE:NAME:PARAMETER=VALUE`."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.ensemble import RandomForestClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from mpu_cli.errors import MpuError
from mpu_cli.experiment.methods import make
from mpu_cli.runtime.run import Run
from tests.core.simulated import as_features, hide, linear_problem

X, Y = linear_problem(150, 5, 4)
FEATURES, LABELS = as_features(X), hide(Y, 0.3)
S = LABELS.toarray().astype(int)


def probabilities(label):
    method = make(label, Run(seed=3))
    method.fit(FEATURES, LABELS)
    return method.predict(FEATURES)


def test_a_forest_learns_all_labels_at_once():
    forest = RandomForestClassifier(20, max_features="sqrt", random_state=3).fit(FEATURES, S)
    expected = np.stack([of_label[:, 1] for of_label in forest.predict_proba(FEATURES)], axis=1)
    found = probabilities("sklearn.ensemble:RandomForestClassifier:n_estimators=20:max_features=sqrt")
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_decisions_are_made_probabilities():
    machine = OneVsRestClassifier(LinearSVC(random_state=3)).fit(FEATURES, S)
    expected = expit(machine.decision_function(FEATURES))
    found = probabilities("sklearn.svm:LinearSVC")
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert ((found >= 0.5) == machine.predict(FEATURES)).all()


@pytest.mark.parametrize(
    ("label", "problem"),
    [
        ("sklearn.ensemble:Forest", "'sklearn.ensemble:Forest' is not a method"),
        ("nowhere:Forest", "'nowhere:Forest' is not a method .*No module named 'nowhere'"),
        ("sklearn.svm:LinearSVC:trees=3", "'trees'"),
        ("sklearn.linear_model:Ridge", "is not a scikit-learn classifier"),
    ],
)
def test_what_is_no_classifier_is_told_before_any_data_are_read(run, tmp_path, label, problem):
    with pytest.raises(MpuError, match=problem):
        make(label, Run())
    result = run("experiment", "nowhere.svm", "--out", tmp_path / "out", "--methods", f"br,{label}")
    assert result.exit_code == 2
    assert "Traceback" not in result.stderr
