"""Lines that stand in a file twice do not pass for predictions out of fold."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

import mpu_cli
from tests.slow import slow
from tests.svm import lines


@pytest.fixture
def drawn():
    """Return features that tell labels in part, and .5 of the labels."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(500, 30))
    Y = X @ rng.normal(size=(30, 6)) + 3 * rng.normal(size=(500, 6)) > 4
    return X, Y & (rng.random(Y.shape) < 0.5)


@pytest.fixture
def once_and_twice(drawn, tmp_path):
    X, S = drawn
    text = "".join(lines(X, S))
    (tmp_path / "once.svm").write_text(text)
    (tmp_path / "twice.svm").write_text(text * 2)
    return tmp_path / "once.svm", tmp_path / "twice.svm"


@pytest.mark.slow
@pytest.mark.parametrize("features", ["linear", *slow("rbf")])
def test_training_expects_what_it_would_of_each_line_once(run, once_and_twice, features):
    options = "--features", features, "--cost", 10, "--epochs", 3, "--levels", 2
    once, twice = (run.json("train", path, *options) for path in once_and_twice)
    assert not once["warnings"] or "have exactly the features" not in once["warnings"][0]
    assert "50% of the instances have exactly the features of an earlier one" in twice["warnings"][0]
    assert twice["c"] == pytest.approx(once["c"], rel=0.3)
    assert twice["expected_micro_f1"] == pytest.approx(once["expected_micro_f1"], abs=0.12)


def test_the_estimate_of_c(run, once_and_twice):
    once, twice = (run.json("estimate-c", path, "--features", "linear") for path in once_and_twice)
    assert "50% of the instances have exactly the features of an earlier one" in twice["warnings"][0]
    assert twice.get("c") == pytest.approx(once["c"], rel=0.3)


@pytest.fixture
def nearly_twice(drawn):
    """Each instance twice, the second time with other numbers in the last digits; which it is."""
    X, S = drawn
    return np.vstack([X, X + 1e-5]), np.vstack([S, S]), np.tile(np.arange(len(X)), 2)


def test_instances_that_belong_together_stay_in_one_fold(nearly_twice):
    X, S, of = nearly_twice
    nearest = mpu_cli.IncompleteLabelClassifier(KNeighborsClassifier(1), c=0.5)
    assert nearest.fit(X, S, same_fold=of).expected_f1_ < 0.75 < nearest.fit(X, S).expected_f1_


def test_sets_in_a_file(run, nearly_twice, tmp_path):
    """Each instance and its like have a feature of their own, by which labels are learned by heart."""
    X, S, of = nearly_twice
    rows = zip(lines(X, S, form=".9g"), of + X.shape[1] + 1, strict=True)
    (tmp_path / "twice.svm").write_text("".join(f"{line.rstrip()} {own}:9\n" for line, own in rows))
    (tmp_path / "sets.txt").write_text("".join(f"book {k % 250}\n" for k in of))
    train = "train", tmp_path / "twice.svm", "--features", "linear", "--levels", 1, "--cost", 30, "--epochs", 5
    apart, joined = run.json(*train), run.json(*train, "--same-fold", tmp_path / "sets.txt")
    assert joined["expected_micro_f1"] < apart["expected_micro_f1"] - 0.1


@pytest.mark.parametrize("kind", ["numbers", "texts"])
def test_any_classifier(drawn, kind):
    X, S = drawn
    nearest = KNeighborsClassifier(1)
    if kind == "texts":
        nearest = make_pipeline(TfidfVectorizer(), nearest)
        X = [" ".join(f"word{j}" for j in np.flatnonzero(x > 0.5)) for x in X]
    twice = [*X, *X] if kind == "texts" else np.vstack([X, X])
    with pytest.warns(mpu_cli.MpuWarning, match="50% of the instances have exactly"):
        model = mpu_cli.IncompleteLabelClassifier(nearest, c=0.5).fit(twice, np.vstack([S, S]))
    assert model.expected_f1_ < 0.7  # the nearest neighbour of an instance is not itself
