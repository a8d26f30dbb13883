import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression

from mpu_cli import methods
from mpu_cli.core.options import Options
from mpu_cli.core.problem import Problem
from mpu_cli.core.stacking import train
from mpu_cli.errors import DataError, MpuError
from mpu_cli.methods.baselines import Elkan08Options
from mpu_cli.runtime.run import Run
from tests.core.simulated import as_features, hide, linear_problem

VARIANTS = [
    ("mpu", {}),
    ("br", {}),
    ("elkan08", {}),
    ("elkan08", {"elkan_variant": "weighted", "c_method": "e2"}),
    ("m3l-linear", {}),
    ("m3l-rbf", {"gamma": 0.2}),
    ("well", {}),
    ("sklearn", {}),
    ("sklearn", {"estimator": "RandomForestClassifier", "parameters": (("n_estimators", 10),)}),
    ("sklearn", {"estimator": "LinearSVC"}),
    ("sklearn", {"estimator": "HistGradientBoostingClassifier", "parameters": (("max_iter", 5),)}),
]


@pytest.fixture(scope="module")
def problem() -> tuple[csr_array, csr_array, csr_array]:
    """Training instances, their labels of which some are missing, and other instances."""
    X, Y = linear_problem(260, 6, 5)
    return as_features(X[:200]), hide(Y[:200], 0.3), as_features(X[200:])


def fit(problem, name, jobs=1, **options) -> methods.Fitted:
    matrix, labels, unlabeled = problem
    return methods.fit(name, Problem(matrix, labels), quick(name, **options), Run(jobs=jobs), unlabeled)


def quick(name, **options):
    """Options of a method, with settings that take no time where it has them."""
    declaration = methods.METHODS[name].options
    settings = {"cost": 10.0, "epochs": 3}
    return declaration(**{key: settings[key] for key in settings if hasattr(declaration, key)} | options)


def test_all_methods_are_tried_here():
    assert {name for name, _ in VARIANTS} == set(methods.METHODS)


@pytest.mark.parametrize(("name", "options"), VARIANTS)
def test_every_method_gives_a_model(problem, name, options):
    fitted = fit(problem, name, **options)
    probabilities = fitted.model.probabilities(problem[2])
    assert probabilities.shape == (60, 5)
    assert probabilities.dtype == np.float32
    assert ((probabilities >= 0) & (probabilities <= 1)).all()
    assert fitted.model.thresholds.dtype == np.float32
    assert fitted.model.thresholds.shape == (5,)
    assert fitted.model.n_features == 6
    assert ((fitted.c > 0) & (fitted.c <= 1)).all()
    assert fitted.seconds
    assert all(seconds >= 0 for seconds in fitted.seconds.values())
    json.dumps(fitted.findings, allow_nan=False)


@pytest.mark.parametrize(("name", "options"), VARIANTS)
def test_the_same_model_on_any_number_of_threads_and_again(problem, name, options):
    one, two, again = (fit(problem, name, jobs, **options) for jobs in (1, 2, 2))
    expected = one.model.probabilities(problem[2])
    for other in (two, again):
        assert_array_equal(other.model.probabilities(problem[2]), expected)
        assert_array_equal(other.model.thresholds, one.model.thresholds)
        assert other.findings == one.findings


def test_br_is_mpu_without_missing_labels_and_levels(problem):
    br = fit(problem, "br")
    options = Options(levels=1, c=1.0, threshold=0.5, cost=10.0, epochs=3)
    model, _ = train(Problem(*problem[:2]), options, calibrated=False)
    assert_array_equal(br.model.levels[0].weights, model.levels[0].weights)
    assert_array_equal(br.model.thresholds, 0.5)
    assert (br.c == 1).all()


def test_br_is_logistic_regression(problem):
    matrix, labels, others = problem
    br = fit(problem, "br", cost=1.0, epochs=150)
    for k, s in enumerate(labels.toarray().T):
        exact = LogisticRegression(C=1.0, tol=1e-8, max_iter=1000).fit(matrix, s)
        assert_allclose(br.model.probabilities(others)[:, k], exact.predict_proba(others)[:, 1], atol=0.02)


def test_options_of_another_method_are_an_error(problem):
    matrix, labels, _ = problem
    with pytest.raises(DataError, match=r"br has other options than mpu_cli\.core\.options\.Options"):
        methods.fit("br", Problem(matrix, labels), Options(levels=3))


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("elkan08", {"c_method": "e3"}),
        ("elkan08", {"elkan_variant": "weighted"}),
        ("m3l-linear", {"label_correlation": 0.9}),
        ("m3l-rbf", {"label_correlation": 0.9}),
        ("m3l-linear", {"likeness": "pearson"}),
        ("m3l-rbf", {"likeness": "pearson"}),
        ("m3l-linear", {"bias": 0.0}),
        ("m3l-rbf", {"bias": 0.0}),
        ("m3l-rbf", {"gamma": 5.0}),
        ("well", {"graph": "cosine"}),
        ("well", {"graph": "rbf", "gamma": 1.0}),
        ("well", {"neighbours": 20}),
        ("well", {"sharing": 0.0}),
        ("well", {"alpha": 1.0}),
        ("well", {"beta": 100.0}),
    ],
)
def test_options_reach_their_method(problem, name, options):
    plain, other = (fit(problem, name, **chosen).model.probabilities(problem[2]) for chosen in ({}, options))
    assert (plain != other).any()


def test_a_c_that_all_labels_share_is_one_finding(problem):
    matrix, labels, _ = problem
    few = methods.fit("elkan08", Problem(matrix[:40], labels[:40]), quick("elkan08"))
    assert isinstance(few.findings["c"], float)
    assert few.findings["labels_with_c_of_their_own"] == 0
    assert isinstance(fit(problem, "elkan08").findings["c"], list)


def test_well_warns_where_the_cut_is_empty(problem):
    fitted = fit(problem, "well", beta=0.1)
    assert fitted.findings["empty_labels"] > 0
    assert "no instance is predicted to have" in fitted.warnings[0]


def test_well_without_instances_to_label(problem):
    with pytest.raises(MpuError, match="well labels instances while it learns"):
        methods.fit("well", Problem(*problem[:2]))


def test_steps_are_observed(problem):
    matrix, labels, _ = problem
    observed = []

    def observe(step, ticks):
        observed.append(step)
        from mpu_cli.runtime.progress import no_observer

        return no_observer(step, ticks)

    fitted = methods.fit("elkan08", Problem(matrix, labels), Elkan08Options(epochs=2), Run(observe=observe))
    assert observed == list(fitted.seconds) == ["choose C", "train"]
