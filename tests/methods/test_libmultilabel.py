"""LibMultiLabel's trainers give models that decide as its own do."""

import builtins

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_matrix

from mpu_cli import methods
from mpu_cli.core.data.problem import Problem
from mpu_cli.errors import MpuError
from mpu_cli.methods.libmultilabel import _labels
from mpu_cli.runtime.run import Run
from tests.core.simulated import as_features, as_labels, hide, linear_problem

pytestmark = pytest.mark.filterwarnings("ignore:the matrix subclass is not the recommended way")
TRAINERS = {"lml-thresholding": "train_thresholding", "lml-cost-sensitive": "train_cost_sensitive"}


@pytest.fixture
def problem():
    X, Y = linear_problem(120, 6, 4)
    return as_features(X), hide(Y, 0.3)


@pytest.mark.parametrize("method", TRAINERS)
def test_decisions_are_those_of_libmultilabel(method, problem):
    linear = pytest.importorskip("libmultilabel.linear")
    features, labels = problem
    fitted = methods.fit(method, Problem(features, labels), run=Run(seed=3))
    np.random.seed(3)  # noqa: NPY002 (its folds are drawn from this generator)
    train = getattr(linear, TRAINERS[method])
    options = "-s 2 -c 1 -B 1 -e 0.0001 -m 1"
    theirs = train(Problem(_labels(labels), csr_matrix(features, dtype=float)), options=options, verbose=False)
    scores = np.asarray(theirs.predict_values(csr_matrix(features, dtype=float)))
    assert (np.abs(scores) > 1e-4).all()
    assert_array_equal(fitted.model.probabilities(features) >= fitted.model.thresholds, scores > 0)
    assert fitted.c.tolist() == [1] * 4


def test_the_seed_is_that_of_the_run_and_no_other_generator_moves(problem):
    pytest.importorskip("libmultilabel.linear")
    features, labels = problem
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    one, again = (methods.fit("lml-thresholding", Problem(features, labels), run=Run(seed=3)).model for _ in range(2))
    assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002
    assert_array_equal(one.probabilities(features), again.probabilities(features))


def test_without_the_package_the_error_says_what_to_install(problem, monkeypatch):
    importing = builtins.__import__

    def without(name, *args, **options):
        if name.startswith("libmultilabel"):
            raise ImportError("No module named 'libmultilabel'")
        return importing(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MpuError, match="pip install libmultilabel"):
        methods.fit("lml-thresholding", Problem(*problem))


def test_too_few_instances_are_an_error_in_words(problem):
    pytest.importorskip("libmultilabel.linear")
    features, labels = problem
    with pytest.raises(MpuError, match="LibMultiLabel cannot learn from these 1 instances"):
        methods.fit("lml-thresholding", Problem(features[:1], labels[:1] + as_labels(np.eye(1, 4))))
