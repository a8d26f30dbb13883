import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from scipy.special import expit
from sklearn.ensemble import RandomForestClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from mpu_cli.experiment import method_names, methods
from mpu_cli.runtime.run import Run
from tests.conftest import ROOT
from tests.core.simulated import as_features, as_labels, hide, linear_problem

# Settings that take no time.
QUICK = {
    "mpu": "mpu:cost=10:epochs=3",
    "mpu-paper": "mpu-paper:cost=10:epochs=3",
    "br": "br:cost=10:epochs=3",
    "elkan08": "elkan08:cost=10:epochs=3",
    "m3l-linear": "m3l-linear:cost=0.3",
    "m3l-rbf": "m3l-rbf:cost=0.05:gamma=0.2",
}
VARIANTS = [QUICK.get(name, name) for name in method_names()]
TOY = """
import numpy as np

class Method:
    threshold = 0.25

    def __init__(self, least: float = 0.0):
        self.least = least

    def fit(self, X, S):
        self.shares = S.mean(axis=0)

    def predict(self, X):
        return np.tile(np.maximum(self.shares, self.least), (X.shape[0], 1))
"""
FEW = ("--folds", 2, "--run-folds", 1, "--missing-rates", 0.3, "-j", 1)


@pytest.fixture(scope="module")
def problem() -> tuple[csr_array, csr_array, csr_array]:
    """Training instances, their labels of which some are missing, and other instances."""
    X, Y = linear_problem(180, 6, 5)
    return as_features(X[:120]), hide(Y[:120], 0.3), as_features(X[120:])


def test_mpu_paper_has_one_c_by_e1_and_decides_at_half(problem):
    method = fit(problem, QUICK["mpu-paper"])
    (c,) = np.unique(method.c)
    assert c < 0.95
    assert_array_equal(method.threshold, 0.5)


def fit(problem, label, seed=0):
    X, S, others = problem
    method = methods.make(label, Run(jobs=1, seed=seed))
    method.fit(X, S, *([others] if getattr(method, "transductive", False) else []))
    return method


@pytest.mark.parametrize("label", VARIANTS)
def test_every_method_predicts_the_same_again(problem, label):
    one, again = (fit(problem, label) for _ in range(2))
    scores = one.predict(problem[2])
    assert scores.shape == (60, 5)
    assert ((scores >= 0) & (scores <= 1)).all()
    assert_array_equal(again.predict(problem[2]), scores)
    c = np.asarray(getattr(one, "c", 1.0))
    assert ((c > 0) & (c <= 1)).all()


@pytest.mark.parametrize("name", ["m3l-linear", "m3l-rbf", "well"])
def test_one_instance_is_enough(name):
    one = as_features([[1.0, 0, 2]])
    method = fit((one, as_labels([[1, 1]]), one), name)
    assert (method.predict(one) >= method.threshold).all()


@pytest.mark.parametrize(
    ("label", "option"),
    [
        ("m3l-linear:cost=0.3", "label_correlation=0.9"),
        ("m3l-rbf:cost=0.3", "label_correlation=0.9"),
        ("m3l-rbf:cost=0.3", "gamma=5.0"),
        *(("well", option) for option in ("neighbours=20", "sharing=0", "alpha=1", "beta=100")),
    ],
)
def test_options_reach_their_method(problem, label, option):
    plain, other = (fit(problem, of).predict(problem[2]) for of in (label, f"{label}:{option}"))
    assert (plain != other).any()


@pytest.mark.parametrize(("texts", "is_tuned"), [(["True", "true", "1"], True), (["False", "false", "0"], False)])
def test_tuned_is_true_or_false(texts, is_tuned):
    made = [methods.make(f"br:tuned={text}", Run()) for text in texts]
    assert [isinstance(method, methods.Tuned) for method in made] == [is_tuned] * 3


def test_a_method_is_one_file_in_the_directory(run, digits, tmp_path, monkeypatch):
    """No other file has to be changed for it."""
    monkeypatch.setattr(methods, "__path__", path := [*methods.__path__, str(tmp_path)])
    monkeypatch.setattr(methods.__spec__, "submodule_search_locations", path)
    (tmp_path / "toy_one.py").write_text(TOY)
    result = run.ok("experiment", digits[0], "--methods", "toy-one:least=0.3", "--out", tmp_path / "out", *FEW)
    assert "| toy-one:least=0.3 | **0." in result.stdout
    assert "toy-one" in method_names()


@pytest.mark.parametrize("label", ["./toy.py", "{}/toy.py:least=0.3", "toy_module:Method:least=0.3", "sparse.py"])
def test_a_method_may_be_elsewhere(run, digits, tmp_path, monkeypatch, label):
    for name in ("toy", "toy_module"):
        (tmp_path / f"{name}.py").write_text(TOY)
    (tmp_path / "sparse.py").write_text(TOY.partition("return")[0] + "return X[:, : len(self.shares)]\n")
    monkeypatch.chdir(tmp_path)
    result = run.ok("experiment", digits[0], "--methods", label.format(tmp_path), "--out", "out", *FEW)
    assert "failed" not in result.stderr


@pytest.mark.slow  # it starts processes
def test_processes_find_a_method_in_the_current_directory(digits, tmp_path):
    (tmp_path / "toy_here.py").write_text(TOY)
    methods_here = "toy_here:Method,toy_here.py"
    command = [sys.executable, "-P", "-m", "mpu_cli", "experiment", str(digits[0]), "--methods", methods_here]
    options = [str(option) for option in FEW[:-1]] + ["2", "--out", "out"]
    done = subprocess.run(
        [*command, *options], cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True
    )
    assert (done.returncode, "failed" in done.stderr) == (0, False), done.stderr


def test_the_example_learns(run, digits, tmp_path, monkeypatch):
    shutil.copy(ROOT / "examples" / "centroid_method.py", tmp_path)
    monkeypatch.chdir(tmp_path)
    result = run.ok("experiment", digits[0], "--methods", "centroid_method.py:sharpness=5", "--out", "out", *FEW)
    assert float(result.stdout.partition("centroid_method.py:sharpness=5 | **")[2][:4]) > 0.3


def test_a_cell_in_which_a_method_fails_says_why(run, digits, tmp_path):
    wrong = {
        "toy": ("S.mean(axis=0)", "1 / 0", "ZeroDivisionError: division by zero"),
        "nan": ("S.mean(axis=0)", "S.mean(axis=0) * np.nan", "predict returned NaN for 1"),
        "exit": ("S.mean(axis=0)", "exit(3)", "SystemExit: 3"),
        "row": (
            "np.tile(np.maximum(self.shares, self.least), (X.shape[0], 1))",
            "self.shares",
            ",); give scores of shape (",
        ),
        "column": (", (X.shape[0], 1))", ", (X.shape[0], 1))[:, :1]", ", 1); give scores"),
        "cut": ("0.25", "float('nan')", "threshold is nan"),
        "cuts": ("0.25", "np.full((9, 1), 0.5)", "threshold is [[0.5]"),
    }
    for name, (before, after, _) in wrong.items():
        (tmp_path / f"{name}.py").write_text(TOY.replace(before, after))
    labels = ["br:epochs=1:cost=1", *(f"{tmp_path}/{name}.py" for name in wrong)]
    result = run("experiment", digits[0], "--methods", ",".join(labels), "--out", tmp_path / "out", *FEW)
    assert "error: " in result.stderr
    assert "7 of 8 training runs failed" in result.stderr
    assert [why for *_, why in wrong.values() if why not in result.stdout] == []


@pytest.mark.parametrize("label", ["toy.py", "toy_edited:Method"])
def test_results_of_code_that_has_changed_are_not_kept(run, digits, tmp_path, monkeypatch, label):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / f"{label.partition(':')[0].removesuffix('.py')}.py"
    compared = "experiment", digits[0], "--methods", f"br:epochs=1:cost=1,{label}", "--out", "out", *FEW
    file.write_text(TOY.replace("0.25", "float('nan')"))
    assert "1 of 2 training runs failed" in run(*compared).stderr
    file.write_text(TOY)  # the method that failed is corrected
    sys.modules.pop("toy_edited", None)
    assert "1 of 2 training runs already done" in run.ok(*compared).stderr
    assert "2 of 2 training runs already done" in run.ok(*compared).stderr
    file.write_text(TOY + "# edited\n")
    assert "contains an experiment with other settings (code)" in run(*compared).stderr


# Classifiers of scikit-learn: `MODULE:NAME:PARAMETER=VALUE`.


def test_a_forest_learns_all_labels_at_once(problem):
    X, S, others = problem
    forest = RandomForestClassifier(20, max_features="sqrt", random_state=3).fit(X, S.toarray())
    expected = np.stack([of_label[:, 1] for of_label in forest.predict_proba(others)], axis=1)
    label = "sklearn.ensemble:RandomForestClassifier:n_estimators=20:max_features=sqrt"
    assert_allclose(fit(problem, label, seed=3).predict(others), expected, rtol=1e-6)


def test_decisions_are_made_probabilities(problem):
    X, S, others = problem
    machine = OneVsRestClassifier(LinearSVC(random_state=3)).fit(X, S.toarray())
    found = fit(problem, "sklearn.svm:LinearSVC", seed=3).predict(others)
    assert_allclose(found, expit(machine.decision_function(others)), rtol=1e-5)
    assert ((found >= 0.5) == machine.predict(others)).all()
    large = fit((X * 1e4, S, others), "sklearn.linear_model:SGDClassifier").predict(others * 1e4)
    assert len(np.unique(large)) > 0.9 * large.size
