"""Training with instances that were drawn at random and completely reviewed."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mpu_cli.core.frequency.review_frequency import from_review
from mpu_cli.core.labels.problem import Problem
from mpu_cli.core.labels.verified import VerifiedLabels
from mpu_cli.core.options import Options
from mpu_cli.core.stacking import train
from mpu_cli.errors import DataError
from tests.core.simulated import as_features, as_labels, linear_problem
from tests.core.test_training import as_bytes
from tests.golden import refused

QUICK = {"levels": 1, "folds": 3, "epochs": 2, "cost": 10.0}


@pytest.fixture
def problem():
    """Features, annotated and true labels; each label has a rate of its own."""
    X, Y = linear_problem(600, 6, 8)
    return as_features(X), Y & (np.random.default_rng(1).random(Y.shape) < np.linspace(0.2, 0.9, 8)), Y


def review(Y, rows):
    """Options with what a complete review of some instances finds."""
    rows = np.asarray(rows)
    instances, labels = np.nonzero(Y[rows])
    verified = VerifiedLabels.of(Y.shape, true=(rows[instances], labels), complete=rows)
    return {"verified": verified, "sampled": rows}


def test_c_that_is_given_is_used(problem):
    X, S, Y = problem
    _, report = train(Problem(X, as_labels(S), **review(Y, np.arange(100))), Options(c=0.7, **QUICK))
    assert_array_equal(report.chosen.c, np.full(8, 0.7))
    assert report.chosen.estimates.reviewed is report.chosen.estimates.estimate is None


def test_no_reviewed_instances_change_nothing(problem):
    X, S, _ = problem
    without, _ = train(Problem(X, as_labels(S)), Options(**QUICK))
    with_none, report = train(Problem(X, as_labels(S), sampled=np.arange(0)), Options(**QUICK))
    assert as_bytes(without) == as_bytes(with_none)
    assert report.chosen.estimates.reviewed is None


def test_where_all_is_reviewed_there_is_no_automatic_estimate(problem):
    X, S, Y = problem
    _, report = train(Problem(X, as_labels(S), **review(Y, np.arange(600))), Options(**QUICK))
    assert report.chosen.estimates.estimate is None
    assert report.chosen.estimates.reviewed.c == pytest.approx(S.sum() / Y.sum(), abs=0.01)


def test_reviewed_instances_need_what_was_found(problem):
    X, S, Y = problem
    verified = review(Y, np.arange(4))["verified"]
    with refused(DataError):
        train(Problem(X, as_labels(S), verified=verified, sampled=np.arange(5)), Options(**QUICK))


def test_a_review_goes_before_a_second_file(problem):
    X, S, Y = problem
    of_review = review(Y, np.arange(100))
    verified = VerifiedLabels.of(
        Y.shape, true=of_review["verified"].cells.nonzero(), complete=[*range(100), *range(500, 600)]
    )
    both = np.vstack([S[:500], Y[500:]])
    given = Problem(X, as_labels(both), verified=verified, sampled=np.arange(100), second=np.arange(500, 600))
    _, report = train(given, Options(**QUICK))
    assert report.chosen.estimates.reviewed.instances == 100
    assert_array_equal(
        report.chosen.c,
        from_review(as_labels(both), verified, np.arange(100), report.chosen.estimates.estimate.c).rates,
    )


def test_a_second_file_that_is_not_complete(problem):
    X, S, _ = problem
    with refused(DataError):
        train(
            Problem(X, as_labels(S), verified=VerifiedLabels.of(S.shape, complete=[2]), second=np.array([2, 3])),
            Options(**QUICK),
        )
