"""Weights that are drawn towards the features of their labels."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array, hstack

from mpu_cli.core.features import Features
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.options import Options
from mpu_cli.core.problem import Problem
from mpu_cli.core.sgd import Settings
from mpu_cli.core.side_information import Prior
from mpu_cli.core.stacking import train
from mpu_cli.runtime.run import Run
from tests.core.simulated import as_features, as_labels, assert_minimal, hide, linear_problem, trained

QUICK = {"c": 0.7, "cost": 30.0, "eta0": 4.0, "epochs": 3, "folds": 3, "levels": 1}


def named_problem(n=900, q=60, D=240, seed=0, missing=0.5) -> tuple[csr_array, csr_array, csr_array, csr_array]:
    """Draw instances of rare labels, each with three features of its own, which are those of the label.

    Returns features, annotated labels, true labels and the features of labels.
    """
    rng = np.random.default_rng(seed)
    of_labels = csr_array((np.ones(3 * q, np.float32), np.arange(3 * q), np.arange(0, 3 * q + 1, 3)), shape=(q, D))
    truth = csr_array(rng.random((n, q)) < 0.6 / q * (1 + np.arange(q) % 3))
    shown = truth.astype(np.float32) @ of_labels
    shown.data = (rng.random(shown.nnz) < 0.7).astype(np.float32)
    shown.eliminate_zeros()
    noise = csr_array(rng.random((n, D)) < 0.03)
    return csr_array(shown + noise.astype(np.float32)), hide(truth, missing, seed), truth, of_labels


def test_weights_converge_to_the_minimum_around_the_mean():
    """The loss plus lambda / 2 ||w - a v||^2."""
    X, Y = linear_problem(600, 4, 2)
    S, V = hide(Y, 0.4), np.array([[2, 0, -1, 0], [0, 0, 0, 0]], np.float32)
    features = Features.of(as_features(X))
    prior, settings = Prior.of(features, as_features(V)), Settings(0.3, epochs=150, prior=3.0)
    model = trained(features, S, np.arange(600), LabelFrequency(np.full(2, 0.6)), settings, prior=prior)
    means = 3.0 / np.sqrt((X**2).sum(axis=1).mean()) * V / np.sqrt(5)
    assert_minimal(model, X, S.toarray(), np.full(Y.shape, 0.6), 0.3, means, atol=0.06)


@pytest.mark.parametrize("kernel", ["auto", "numpy"])
def test_a_weight_of_zero_changes_no_byte(kernel):
    matrix, annotated, _, of_labels = named_problem()
    features, frequency = Features.of(matrix), LabelFrequency(np.full(60, 0.5))
    given = features, annotated, np.arange(len(features)), frequency, Settings(3.0, epochs=2)
    without, at_zero = (
        trained(*given, run=Run(kernel=kernel), prior=prior) for prior in (None, Prior.of(features, of_labels))
    )
    assert_array_equal(without.weights, at_zero.weights)
    assert_array_equal(without.bias, at_zero.bias)


@pytest.mark.slow  # it chooses all options
def test_labels_are_learned_from_their_features_where_annotations_are_few():
    matrix, annotated, _, of_labels = named_problem()
    (test, _, test_truth, _) = named_problem(seed=1)
    f1 = []
    for prior in ("none", None):
        model, report = train(
            Problem(matrix, annotated, label_features=of_labels), Options(c=0.5, levels=1, prior=prior)
        )
        predicted = csr_array(model.probabilities(test) >= model.thresholds)
        f1.append(2 * predicted.multiply(test_truth).sum() / (predicted.sum() + test_truth.sum()))
    assert report.chosen.settings.prior > 0
    assert f1[1] > f1[0] + 0.05


@pytest.mark.slow  # it chooses all options
def test_features_that_mean_nothing_are_not_used():
    matrix, annotated, _, of_labels = named_problem(missing=0.2)
    shuffled = of_labels[np.random.default_rng(3).permutation(60)]
    misled, report = train(Problem(matrix, annotated, label_features=shuffled), Options(c=0.8, levels=1))
    without, _ = train(Problem(matrix, annotated), Options(c=0.8, levels=1))
    assert report.chosen.settings.prior == 0
    assert_array_equal(misled.levels[0].weights, without.levels[0].weights)


def test_a_label_that_is_never_annotated_is_predicted_by_its_features_in_two_levels():
    matrix, annotated, _, of_labels = named_problem(missing=0.0)
    annotated = as_labels(annotated.toarray() & (np.arange(60) != 7))
    given = Options(**QUICK | {"levels": 2}, prior=15.0)
    model, report = train(Problem(matrix, annotated, label_features=of_labels), given)
    assert report.level_f1[-1] == report.expected_f1
    test, _, test_truth, _ = named_problem(seed=1)
    p, true = model.probabilities(test)[:, 7], test_truth[:, [7]].toarray()[:, 0]
    assert np.median(p[true]) > np.quantile(p[~true], 0.95)


@pytest.mark.slow  # it chooses all options
def test_what_is_estimated_is_estimated_from_labels_that_are_annotated():
    matrix, annotated, _, _ = named_problem()
    more = csr_array(hstack([annotated, csr_array((annotated.shape[0], 20), dtype=bool)], format="csr"))
    for choice in ({}, {"c": 0.5, "threshold": "per-label"}):
        options = Options(levels=1, **choice)
        (model, report), (wide, of_wide) = (train(Problem(matrix, labels), options) for labels in (annotated, more))
        assert_allclose(of_wide.chosen.c[:60], report.chosen.c, rtol=1e-3)
        assert of_wide.chosen.settings == report.chosen.settings
        assert_allclose(of_wide.level_f1, report.level_f1, rtol=1e-3)
        assert_allclose(of_wide.expected_f1, report.expected_f1, rtol=1e-3)
        assert_allclose(wide.thresholds[:60], model.thresholds, rtol=1e-2)
        assert np.isfinite(wide.thresholds).all()


def test_features_of_labels_that_no_instance_has_are_known_to_the_model():
    matrix, annotated, _, of_labels = named_problem()
    beyond = of_labels.tolil()
    beyond.resize((60, 400))
    beyond[3, 390] = 1
    for room in (400, 2000):  # many features that nobody has: only those that occur take room
        wide = csr_array(beyond.tocsr())
        wide.resize((60, room))
        model, _ = train(Problem(matrix, annotated, label_features=csr_array(wide)), Options(**QUICK, prior=15.0))
        assert model.n_features == room
        p = model.probabilities(csr_array((np.float32([1]), ([0], [390])), shape=(1, room)))[0]
        assert np.argmax(p - model.probabilities(csr_array((1, room), dtype=np.float32))[0]) == 3


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_only_the_direction_of_label_features_counts(scale):
    matrix, annotated, _, of_labels = named_problem()
    models = [
        train(
            Problem(matrix, annotated, label_features=csr_array(of_labels * np.float32(by))),
            Options(**QUICK, prior=15.0),
        )[0]
        for by in (1, scale)
    ]
    assert_allclose(*(model.levels[0].weights for model in models), rtol=1e-3, atol=1e-4)
