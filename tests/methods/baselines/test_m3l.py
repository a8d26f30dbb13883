"""M3L from annotations to a model."""

from contextlib import contextmanager

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logit
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC, LinearSVC

from mpu_cli.core import limits
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.thresholds import estimated_f1
from mpu_cli.errors import TooLargeError
from mpu_cli.methods.baselines import M3lLinearOptions, M3lRbfOptions, m3l
from mpu_cli.runtime.run import DEFAULT_RUN, Run
from tests.core.simulated import as_features, as_labels, linear_problem, read_digits


def train_linear(matrix, labels, *, tolerance=m3l.TOLERANCE, run=DEFAULT_RUN, **options):
    return m3l.train_linear(matrix, labels, M3lLinearOptions(**options), tolerance=tolerance, run=run)


def train_rbf(matrix, labels, *, tolerance=m3l.TOLERANCE, run=DEFAULT_RUN, **options):
    return m3l.train_rbf(matrix, labels, M3lRbfOptions(**options), tolerance=tolerance, run=run)


TRAIN = [train_linear, train_rbf]


def micro_f1(model, features, labels) -> float:
    return estimated_f1(model.probabilities(features), labels, LabelFrequency.of(1.0, labels.shape), model.thresholds)


@pytest.mark.parametrize(("train", "cost", "least"), [(train_linear, 0.2, 0.85), (train_rbf, 10.0, 0.94)])
def test_digits_are_learned(train, cost, least, digits):
    features, labels, test_features, test_labels = read_digits(digits)
    model, report = train(features[:500], labels[:500], cost=cost)
    assert report.relative_gap <= m3l.TOLERANCE
    assert micro_f1(model, test_features, test_labels) > least


def test_cross_validation_says_what_to_expect():
    X, Y = linear_problem(400, 20, 3, slope=10)
    model, report = train_linear(as_features(X[:80]), as_labels(Y[:80]))
    assert report.f1 == pytest.approx(micro_f1(model, as_features(X[80:]), as_labels(Y[80:])), abs=0.08)


@pytest.mark.parametrize("train", TRAIN)
def test_the_model_does_not_depend_on_the_number_of_threads(train):
    X, Y = linear_problem(60, 30, 4)
    models, reports = zip(
        *(train(as_features(X), as_labels(Y), run=Run(jobs=jobs, seed=3)) for jobs in (1, 2)), strict=True
    )
    assert reports[0] == reports[1]
    assert_array_equal(*(model.probabilities(as_features(X)) for model in models))


@pytest.mark.parametrize("train", TRAIN)
def test_labels_of_which_one_implies_another_help_each_other(train):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 20)).astype(np.float32)
    first = X[:, 0] > 1
    second = first & (rng.random(200) < 0.5)
    Y = np.column_stack([first, second])
    together, apart = (
        train(as_features(X), as_labels(Y), cost=0.01, label_correlation=rho)[0].probabilities(as_features(X))
        for rho in (0.9, 0.0)
    )
    assert np.corrcoef(together[:, 1], X[:, 0])[0, 1] > np.corrcoef(apart[:, 1], X[:, 0])[0, 1]


def test_a_given_cost_is_taken_and_nothing_is_chosen():
    X, Y = linear_problem(60, 5, 3)
    steps = []

    @contextmanager
    def observe(step, ticks):
        steps.append(step)
        yield lambda: steps.append("tick")

    _, report = train_linear(as_features(X), as_labels(Y), cost=0.7, label_correlation=0.2, run=Run(observe=observe))
    assert steps == ["ascend", *["tick"] * report.epochs]
    assert (report.cost, report.label_correlation, report.gamma, report.f1) == (0.7, 0.2, None, None)
    _, report = train_rbf(as_features(X), as_labels(Y), cost=0.7, gamma=0.3)
    assert (report.cost, report.label_correlation, report.gamma) == (0.7, 0.5, 0.3)


@pytest.mark.parametrize("train", TRAIN)
def test_without_a_bias_the_scale_of_the_features_does_not_matter(train):
    X, Y = linear_problem(40, 30, 3)
    plain, scaled = (train(as_features(X * scale), as_labels(Y), bias=0) for scale in (1, 1024))
    assert plain[1].f1 == pytest.approx(scaled[1].f1, abs=0.02)
    assert_allclose(plain[0].probabilities(as_features(X)), scaled[0].probabilities(as_features(X * 1024)), atol=0.02)


def test_without_a_bias_an_instance_without_features_has_no_label():
    X, Y = linear_problem(50, 5, 3)
    model, _ = train_linear(as_features(X), as_labels(Y), cost=1.0, bias=0)
    assert not (model.probabilities(as_features(np.zeros((1, 5)))) >= model.thresholds).any()


@pytest.mark.parametrize("train", TRAIN)
def test_an_instance_without_features_has_a_label_that_most_have(train):
    X, Y = linear_problem(50, 5, 2)
    model, _ = train(as_features(X), as_labels(Y | [True, False]), cost=1.0)
    assert (model.probabilities(as_features(np.zeros((1, 5)))) >= model.thresholds)[0, 0]


@pytest.mark.parametrize("bias", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("cost", [0.05, 0.5])
def test_independent_labels_are_support_vector_machines_of_liblinear(cost, bias):
    """LIBLINEAR regularises the weight of its constant feature too; the C of M3L counts a wrong label twice."""
    X, Y = offset_problem()
    model, _ = train_linear(as_features(X), as_labels(Y), cost=cost, label_correlation=0, bias=bias, tolerance=1e-5)
    svm = liblinear(2 * cost, bias)
    expected = np.column_stack([svm.fit(X, y).decision_function(X) for y in Y.T])
    assert_allclose(logit(model.probabilities(as_features(X))), expected, atol=0.01 * np.abs(expected).max())


@pytest.mark.parametrize("bias", [0.0, 0.3, 1.0])
def test_independent_labels_are_kernel_machines_of_liblinear(bias):
    """LIBLINEAR gets coordinates whose scalar products are the values of the kernel."""
    X, Y = offset_problem()
    options = {"gamma": 0.3, "cost": 0.5, "label_correlation": 0, "bias": bias, "tolerance": 1e-5}
    model, _ = train_rbf(as_features(X), as_labels(Y), **options)
    values, vectors = np.linalg.eigh(rbf_kernel(X, gamma=0.3))
    coordinates = vectors * np.sqrt(np.maximum(values, 0))
    svm = liblinear(1.0, bias)
    expected = np.column_stack([svm.fit(coordinates, y).decision_function(coordinates) for y in Y.T])
    assert_allclose(logit(model.probabilities(as_features(X))), expected, atol=2e-2)


def test_with_a_large_constant_the_bias_is_free_as_that_of_libsvm():
    """LIBSVM does not regularise its bias; a constant on its kernel would change nothing."""
    X, Y = offset_problem()
    options = {"gamma": 0.3, "cost": 0.5, "label_correlation": 0, "tolerance": 1e-6}
    model, _ = train_rbf(as_features(X), as_labels(Y), bias=3.0, **options)
    expected = np.column_stack([SVC(C=1.0, gamma=0.3, tol=1e-6).fit(X, y).decision_function(X) for y in Y.T])
    assert_allclose(logit(model.probabilities(as_features(X))), expected, atol=1e-2)


@pytest.mark.parametrize("train", TRAIN)
def test_a_signed_prior_keeps_labels_apart_that_exclude_each_other(train):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 20)).astype(np.float32)
    Y = np.column_stack([X[:, 0] > 0, (X[:, 0] <= 0) & (rng.random(200) < 0.5)])
    signed, cosine = (
        train(as_features(X), as_labels(Y), cost=0.01, label_correlation=0.9, likeness=likeness)[0]
        for likeness in ("pearson", "cosine")
    )
    of_signed, of_cosine = (
        np.corrcoef(model.probabilities(as_features(X))[:, 1], X[:, 0])[0, 1] for model in (signed, cosine)
    )
    assert of_signed < of_cosine < 0


def offset_problem() -> tuple[np.ndarray, np.ndarray]:
    """Instances far from the origin, so that a bias matters."""
    X, Y = linear_problem(60, 4, 3)
    return (X + 0.5).astype(np.float32), Y


def liblinear(cost: float, bias: float) -> LinearSVC:
    options = {"fit_intercept": True, "intercept_scaling": bias} if bias else {"fit_intercept": False}
    return LinearSVC(loss="hinge", C=cost, tol=1e-7, max_iter=10**6, **options)


@pytest.mark.parametrize("train", TRAIN)
def test_cost_is_chosen_on_a_sample(train):
    X, Y = linear_problem(90, 30, 3)
    model, report = train(as_features(X), as_labels(Y), sample=40, folds=3)
    assert 0 < report.f1 <= 1
    assert model.probabilities(as_features(X)).shape == (90, 3)


@pytest.mark.parametrize("train", TRAIN)
def test_one_instance_is_enough(train):
    model, _ = train(as_features([[1.0, 0, 2]]), as_labels([[1, 1]]))
    assert (model.probabilities(as_features([[1.0, 0, 2]])) >= model.thresholds).all()


@pytest.mark.parametrize(
    ("train", "size"), [(train_linear, r"864 bytes \(0\.0 GB\)"), (train_rbf, r"1,600 bytes \(0\.0 GB\)")]
)
def test_what_does_not_fit_in_memory_is_refused(train, size, monkeypatch):
    monkeypatch.setattr(limits, "available_memory", lambda: 500)
    X, Y = linear_problem(20, 29, 4)
    with pytest.raises(TooLargeError, match=size) as error:
        train(as_features(X), as_labels(Y))
    assert ("m3l-linear" in str(error.value)) == (train is train_rbf)
