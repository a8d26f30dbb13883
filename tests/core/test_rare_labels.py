"""Labels that are annotated a few times, and that a name finds too: out of fold, those that are known are survivors."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from mpu_cli.core.calibration import (
    Calibration,
    StratifiedCalibration,
)
from mpu_cli.core.labels.problem import Problem
from mpu_cli.core.labels.verified import VerifiedLabels
from mpu_cli.core.linear_model import LinearModel
from mpu_cli.core.options import Options
from mpu_cli.core.predictions import Top, count_positives, strata_of
from mpu_cli.core.stacking import StackedModel, train
from mpu_cli.core.validation import deal
from mpu_cli.runtime.run import DEFAULT_RUN

N, NOISE, C = 1000, 60, 0.7
GIVEN = Options(c=C, levels=1, cost=30.0, eta0=4.0, epochs=5, folds=5, prior=30.0)


class Library:
    """Texts of words, most of them rare. Each word is the name of a label, which it means more or less often."""

    def __init__(self, words: int, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.meant = rng.beta(0.6, 0.8, words)
        self.often = np.minimum((rng.pareto(1.0, words) + 1) * 0.5 / N, 0.2)
        self.seed = seed

    def draw(self, n: int, number: int) -> tuple[csr_array, np.ndarray, np.ndarray]:
        """Return features, true labels and annotated labels of n texts."""
        rng = np.random.default_rng([self.seed, number])
        words = rng.random((n, len(self.meant))) < self.often
        truth = words & (rng.random(words.shape) < self.meant)
        features = np.hstack([words, rng.random((n, NOISE)) < 0.1]).astype(np.float32)
        return csr_array(features), truth, truth & (rng.random(truth.shape) < C)

    def problem(self) -> tuple[Problem, np.ndarray]:
        """Return texts with the labels that are annotated, and which these are."""
        features, _, annotated = self.draw(N, 1)
        labels = np.flatnonzero(annotated.any(axis=0))
        names = np.eye(len(self.meant), features.shape[1], dtype=np.float32)[labels]
        return Problem(features, csr_array(annotated[:, labels]), label_features=csr_array(names)), labels


@pytest.fixture(scope="module", params=[500, pytest.param(3000, marks=pytest.mark.slow)])
def library(request):
    return Library(request.param)


@pytest.fixture(scope="module")
def trained(library):
    problem, labels = library.problem()
    return (*train(problem, GIVEN, hold_out_all=True), problem, labels)


def test_probabilities_of_rare_labels_are_true_of_new_instances(library, trained):
    model, report, _, labels = trained
    features, truth, _ = library.draw(4000, 2)
    p, y = model.probabilities(features), truth[:, labels]
    assert isinstance(model.calibration, StratifiedCalibration)
    for low, high in ((0.2, 0.5), (0.5, 0.7), (0.7, 1.01)):
        claimed = (p >= low) & (p < high)
        assert p[claimed].mean() == pytest.approx(y[claimed].mean(), abs=0.1)
    predicted = p >= model.thresholds
    reached = 2 * (predicted & y).sum() / (predicted.sum() + truth.sum())
    assert report.expected_f1 == pytest.approx(reached, abs=0.05)


@pytest.mark.parametrize("most", [1, 3, 40])
def test_the_most_probable_labels_are_those_of_the_largest_probability(most):
    """Of many labels, where one with a larger score may be less probable."""
    rng = np.random.default_rng(0)
    level = LinearModel(csr_array(rng.normal(size=(8, 60)).astype(np.float32)), np.zeros(60, np.float32))
    maps = tuple(Calibration(np.array([0.0]), np.array([shift])) for shift in (-4.0, -2.0, 0.0, 1.0, 3.0))
    calibration = StratifiedCalibration(maps, rng.integers(5, size=60).astype(np.int8))
    model = StackedModel((level,), 0.3, np.full(60, 0.5, np.float32), calibrations=(calibration,), top=Top(60, 1e-6))
    matrix = csr_array(rng.normal(size=(30, 8)).astype(np.float32))
    every, found = model.probabilities(matrix), model.predictions(matrix, most=most)
    assert np.diff(found.indptr).tolist() == [most] * 30
    assert_allclose(np.sort(found.data.reshape(30, most)), np.sort(every)[:, -most:], rtol=1e-5)


def test_held_out_predictions_are_calibrated_by_what_their_models_have_seen(library, trained):
    model, report, problem, _ = trained
    made_by = report.held_out.made_by
    for fold, rows in enumerate(deal(N, 5, DEFAULT_RUN.seed)):
        assert (made_by.of_instances[rows] == fold).all()
        rest = np.setdiff1d(np.arange(N), rows)
        assert_array_equal(made_by.annotations[fold], count_positives(problem.labels[rest]))
    assert_array_equal(model.calibration.strata, strata_of(count_positives(problem.labels)))


def test_verified_labels_count_as_what_the_model_learns():
    """A label that a person found true is one that the model has seen, and one that was found false is none."""
    problem, labels = Library(500).problem()
    rows, columns = problem.labels.nonzero()
    once = np.flatnonzero(count_positives(problem.labels) == 1)[:2]
    there = np.array([rows[columns == k][0] for k in once])
    elsewhere = (there + 1) % N
    verified = VerifiedLabels.of((N, len(labels)), true=(elsewhere[:1], once[:1]), false=(there[1:], once[1:]))
    model, _ = train(replace(problem, verified=verified), GIVEN)
    assert model.calibration.strata[once].tolist() == strata_of(np.array([2, 0])).tolist()
