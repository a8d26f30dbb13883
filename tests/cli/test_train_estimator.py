"""`mpu train --estimator`: any classifier of scikit-learn, saved by skops."""

import json
import sys

import numpy as np
import pytest
import skops.io
from scipy.sparse import csr_array
from sklearn.ensemble import RandomForestClassifier

from mpu_cli import IncompleteLabelClassifier, MPUClassifier, bundle, load
from mpu_cli.errors import ModelError
from mpu_cli.methods.scikit_learn.classifiers import packed, unpacked
from tests.core.simulated import hide, linear_problem
from tests.svm import lines

pytestmark = pytest.mark.filterwarnings("ignore::mpu_cli.MpuWarning")  # of so few data

X, Y = linear_problem(400, 4, 3)
X = np.array([[float(f"{v:.4f}") for v in x] for x in X], np.float32)  # as files have them
S = hide(Y[:300], 0.4).toarray().astype(int)
FOREST = "RandomForestClassifier:n_estimators=10:min_samples_leaf=5"


def trained(run, folder):
    (folder / "train.svm").write_text("".join(lines(X[:300], S, first=0)))
    (folder / "other.svm").write_text("".join(lines(X[300:], Y[300:], first=0)))
    result = run("train", folder / "train.svm", "--estimator", FOREST, "--oof", folder / "oof.txt", "--json")
    assert result.exit_code == 0, result.stderr
    (folder / "report.json").write_text(result.stdout)


@pytest.fixture(scope="module")
def folder(made):
    """Training instances, others, and a forest that has learned them."""
    return made(trained)


def test_the_model_is_that_of_the_meta_estimator(folder, run):
    report = json.loads((folder / "report.json").read_text())
    forest = RandomForestClassifier(n_estimators=10, min_samples_leaf=5, random_state=0)
    model = IncompleteLabelClassifier(forest).fit(csr_array(X[:300], dtype=np.float32), S)
    assert report["method"] == "sklearn-pu"
    assert (report["c"], report["c_estimated"]) == (pytest.approx(model.c_[0]), True)
    assert report["expected_micro_f1"] == pytest.approx(model.expected_f1_)
    assert report["expected_micro_f1_interval"] == pytest.approx(model.expected_f1_interval_)
    assert report["threshold"] == pytest.approx(model.thresholds_[0])
    loaded = load(folder / "train.mpu")
    expected = model.predict_proba(csr_array(X[300:], dtype=np.float32))
    np.testing.assert_allclose(loaded.predict_proba(X[300:]), expected, rtol=1e-5)
    predicted = run("predict", folder / "train.mpu", folder / "other.svm").stdout.splitlines()
    assert predicted == [",".join(map(str, np.flatnonzero(row))) for row in model.predict(X[300:].astype(np.float32))]
    assert len((folder / "oof.txt").read_text().splitlines()) == 300


def test_other_commands_read_the_model(folder, run):
    assert "micro_f1" in run("evaluate", folder / "other.svm", folder / "train.mpu").stdout
    described = run("info", folder / "train.mpu")
    assert described.exit_code == 0
    assert f"estimator {FOREST}" in described.stdout


def test_the_readable_report(folder, run, tmp_path):
    result = run("train", folder / "train.svm", "--estimator", "sklearn.naive_bayes:GaussianNB", "-o", tmp_path / "m")
    assert result.exit_code == 0
    names = [line.partition("  ")[0] for line in result.stdout.splitlines()]
    assert names == ["method", "data", "c", "threshold", "expected", "unannotated", "scikit learn", "model"]


def test_options_of_the_meta_estimator(folder, run, tmp_path):
    options = ("--c", 0.6, "--threshold", "per-label", "--folds", 3, "--seed", 2, "--unannotated", "weighted")
    estimator = ("--estimator", "LogisticRegression:C=3")
    result = run("train", folder / "train.svm", *estimator, *options, "-o", tmp_path / "m", "--json")
    assert result.exit_code == 0, result.stderr
    report = json.loads(result.stdout)
    chosen = {"method": "sklearn-pu", "estimator": "LogisticRegression:C=3", "unannotated": "weighted"}
    others = {"c": 0.6, "threshold": "per-label", "folds": 3, "random_state": 2}
    model = MPUClassifier(**chosen, **others).fit(X[:300], S)
    assert report["unannotated"] == "weighted"
    assert list(report["thresholds"].values()) == pytest.approx(model.thresholds_.tolist(), rel=1e-4)


def test_verdicts_teach(folder, run, tmp_path):
    rows = "".join(f"{i}\t0\tyes\n" for i in range(1, 60))
    (tmp_path / "reviewed.tsv").write_text(f"instance\tlabel\tverdict\n{rows}")
    estimator = ("--estimator", "LogisticRegression", "--reviewed", tmp_path / "reviewed.tsv")
    result = run("train", folder / "train.svm", *estimator, "-o", tmp_path / "m", "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["review"]["decisions"] == 59


def test_a_factory_in_a_module(folder, run, tmp_path, monkeypatch):
    (tmp_path / "my_models.py").write_text(
        "from sklearn.tree import DecisionTreeClassifier\n"
        "def shallow(depth=2):\n    return DecisionTreeClassifier(max_depth=depth)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    result = run("train", folder / "train.svm", "--estimator", "my_models:shallow:depth=1", "-o", tmp_path / "m", "-q")
    assert result.exit_code == 0, result.stderr
    assert bundle.load(tmp_path / "m").predictor.classifiers[0].get_depth() == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--estimator", "Nope"), "there is no classifier Nope"),
        (("--estimator", "LogisticRegression:D=3"), "cannot be made"),
        (("--estimator", "Ridge"), "there is no classifier Ridge"),
        (("--method", "sklearn-pu"), "needs a classifier: give --estimator"),
        (("--estimator", "LinearDiscriminantAnalysis", "--unannotated", "weighted"), "takes no sample_weight"),
        (("--estimator", "HistGradientBoostingClassifier"), "cannot be saved, as skops does not trust sklearn.ens"),
    ],
)
def test_what_cannot_be_is_told(folder, run, tmp_path, options, message):
    result = run("train", folder / "train.svm", *options, "-o", tmp_path / "m")
    assert result.exit_code == 1
    assert message in result.stderr
    assert not (tmp_path / "m" / "manifest.json").exists()


def test_without_skops_it_is_told_before_training(run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "skops.io", None)
    result = run("train", tmp_path / "nowhere.svm", "--estimator", "LogisticRegression")
    assert (result.exit_code, "pip install skops" in result.stderr) == (1, True)


def test_options_of_other_methods_are_wrong_usage(folder, run):
    assert run("train", folder / "train.svm", "--estimator", FOREST, "--cost", 1).exit_code == 2
    assert run("train", folder / "train.svm", "--method", "br", "--estimator", FOREST).exit_code == 2


class Stranger:
    """Something that no model needs."""


def forest_with(name, value):
    tree = RandomForestClassifier(1, random_state=0).fit(X[:300], S).estimators_[0].tree_
    state = tree.__getstate__()
    state["nodes"][name][0] = value
    tree.__setstate__(state)
    forest = RandomForestClassifier(1, random_state=0).fit(X[:300], S)
    forest.estimators_[0].tree_.__setstate__(state)
    return forest


@pytest.mark.parametrize(("name", "value"), [("left_child", 10**6), ("right_child", 0), ("feature", 4)])
def test_trees_that_lead_nowhere_are_refused(name, value):
    with pytest.raises(ValueError, match="not there"):
        unpacked(packed([forest_with(name, value)]))


def test_what_is_not_trusted_is_neither_written_nor_read():
    assert unpacked(packed([RandomForestClassifier(2).fit(X[:300], S)]))[0].n_estimators == 2
    with pytest.raises(ValueError, match="Stranger"):
        unpacked(skops.io.dumps([Stranger()]))
    with pytest.raises(ValueError, match="compressed"):
        unpacked(skops.io.dumps([RandomForestClassifier()], compression=8))
    with pytest.raises(ValueError, match="cannot be read"):
        unpacked(b"PK")


def test_a_damaged_model_is_refused(copied):
    model = copied(trained) / "train.mpu"
    file = next(model.glob("classifiers-*.npz"))
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(ModelError, match="damaged"):
        bundle.load(model)
