"""Questions from Python: the same cells as on the command line, and c by their answers."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from mpu_cli import IncompleteLabelClassifier, MPUClassifier, questions
from mpu_cli.review.decisions import read
from mpu_cli.svmlight.reader import read as read_data
from tests.cli.test_questions import answered
from tests.core.simulated import linear_problem
from tests.golden import refused
from tests.svm import write

FAST = {"C": 10.0, "epochs": 3, "levels": 1}


@pytest.fixture
def problem(tmp_path):
    """Features, true labels, annotated ones; and the file of these, by which features have its digits."""
    X, Y = linear_problem(600, 6, 3, slope=6.0)
    S = Y & (np.random.default_rng(1).random(Y.shape) < [0.8, 0.5, 0.3])
    path = write(tmp_path / "data.svm", X, S, form=".6g")
    return read_data(path).features, Y, S.astype(int), path


def arrays(asked, Y):
    """What is reviewed and how it was drawn, of answered questions."""
    reviewed, sampled = np.zeros(Y.shape), np.zeros(Y.shape)
    cells = asked.rows, asked.columns
    reviewed[cells], sampled[cells] = np.where(Y[cells], 1, -1), asked.chance
    return {"reviewed": reviewed, "sampled": sampled}


def test_the_same_questions_and_the_same_c_as_on_the_command_line(run, problem, tmp_path):
    X, Y, S, path = problem
    asked = questions(X, S, 60)
    run("suggest", path, "--questions", 60, "-o", tmp_path / "questions.tsv", "-q")
    checked = answered(tmp_path / "questions.tsv", tmp_path / "checked.tsv", Y)
    decided = read([checked])
    here = set(zip(asked.rows.tolist(), (asked.columns + 1).tolist(), strict=True))
    assert here == set(zip(decided.instance.tolist(), decided.label.tolist(), strict=True))
    report = run.json("train", path, "--reviewed", checked, "--cost", 10, "--epochs", 3, "--levels", 1, "-q")
    model = MPUClassifier(**FAST).fit(X, S, **arrays(asked, Y))
    np.testing.assert_allclose(model.c_, report["c"])
    assert model.record_["c_by_people"] == report["c_by_people"]


def test_the_next_questions(problem):
    X, Y, S, _ = problem
    first = questions(X, S, 40, random_state=3)
    given = arrays(first, Y)
    second = questions(X, S, 40, random_state=3, **given)
    both = [set(zip(asked.rows.tolist(), asked.columns.tolist(), strict=True)) for asked in (first, second)]
    assert len(both[0] | both[1]) == 80
    sparse = {name: csr_array(values) for name, values in given.items()}
    np.testing.assert_array_equal(questions(X, S, 40, random_state=3, **sparse).rows, second.rows)


@pytest.mark.slow
def test_instances_all_of_whose_cells_were_surely_drawn_are_a_sample(problem):
    X, Y, S, _ = problem
    given = arrays(questions(X, S, 40), Y)
    given["reviewed"][:30], given["sampled"][:30] = np.where(Y[:30], 1, -1), 1
    found = MPUClassifier(**FAST).fit(X, S, **given).record_["c_by_people"]
    assert found["instances"] == 30
    assert 0 < found["answers"] <= 40
    alone = np.arange(600) < 30
    verdicts, chances = given["reviewed"] * alone[:, None], np.where(alone[:, None], 1.0, np.zeros(Y.shape))
    one, other = (MPUClassifier(**FAST).fit(X, S, reviewed=verdicts, sampled=of).c_ for of in (alone, chances))
    np.testing.assert_array_equal(one, other)


def separable(n, prevalence):
    """Features that predict labels nearly perfectly, labels, and annotations of half of them."""
    rng = np.random.default_rng(0)
    Y = rng.random((n, 8)) < prevalence
    X = Y @ rng.normal(size=(8, 30)) + 0.3 * rng.normal(size=(n, 30))
    return X, Y, (Y & (rng.random(Y.shape) < 0.5)).astype(int)


@pytest.mark.parametrize(("n", "prevalence"), [(1000, 0.05), (4000, 0.2)])
def test_c_by_answers_where_features_separate_labels_nearly_perfectly(n, prevalence):
    X, Y, S = separable(n, prevalence)
    given = arrays(questions(X, S, 200), Y)
    found = MPUClassifier(**FAST).fit(X, S, **given).record_["c_by_people"]
    assert found["c"] == pytest.approx(S.sum() / Y.sum(), abs=0.025)


@pytest.mark.parametrize("n", [200, 2000])  # the second: all cells without annotation
def test_answers_for_a_single_label_are_not_taken_for_complete_instances(n):
    X, Y, S = separable(1500, 0.3)
    Y, S = Y[:, :1], S[:, :1]
    given = arrays(questions(X, S, n), Y)
    found = MPUClassifier(**FAST).fit(X, S, **given).record_["c_by_people"]
    assert found["answers"] == np.count_nonzero(given["sampled"])
    assert found["c"] == pytest.approx(S.sum() / Y.sum(), abs=0.05)
    assert found["interval"][0] < S.sum() / Y.sum() < found["interval"][1]


def test_cells_that_are_surely_false_are_not_claimed_after_answers():
    X, Y, S = separable(1000, 0.03)
    given = arrays(questions(X, S, 40), Y)
    missing = IncompleteLabelClassifier(MPUClassifier(**FAST, c=1.0)).fit(X, S, **given).missing_labels()
    assert missing.probabilities.sum() < 2 * Y[missing.rows, missing.columns].sum()  # it was 2.3 times as many


def test_wrong_values(problem):
    X, _, S, _ = problem
    for sampled in (np.zeros((600, 2)), np.full(S.shape, 1.5)):
        with refused(ValueError):
            MPUClassifier(**FAST).fit(X, S, sampled=sampled)
    with refused(ValueError):
        questions(X, S, 0)
