"""Verified labels go through thresholds, the estimates of c, loss, kernels, initial bias and training."""

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal

from mpu_cli.core.calibration import HeldOut
from mpu_cli.core.features import Features
from mpu_cli.core.frequency.estimators import METHODS
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.problem import Instances, Problem, VerifiedLabels
from mpu_cli.core.sample import Sample
from mpu_cli.core.sgd import Settings, initial_bias
from mpu_cli.core.stacking import train
from mpu_cli.core.thresholds import expected_f1, label_thresholds, pooled_threshold
from mpu_cli.errors import MpuError
from tests import kernels
from tests.core.frequency.cells import estimate
from tests.core.simulated import as_features, as_labels, assert_minimal, hide, linear_problem, trained
from tests.core.test_training import as_bytes, quick
from tests.core.verified import (
    FALSE,
    IGNORED,
    TRUE,
    UNKNOWN,
    by_definition,
    cells,
    seeds,
    true_by_definition,
    verified_of,
)
from tests.golden import refused
from tests.slow import slow, slow_uncompiled

# Thresholds


def scores(seed, shape) -> np.ndarray:
    """Probabilities on the edges of candidate thresholds, where the search is exact."""
    return (np.random.default_rng(seed).integers(0, 65, size=shape) / 64).astype(np.float32)


def f1_by_definition(P, case, predicted) -> float:
    true, positive = true_by_definition(*case), predicted & (by_definition(*case)[1] > 0)
    return 2 * true[positive].sum() / max(positive.sum() + true.sum(), 1)


@given(cells(), seeds)
def test_thresholds_by_brute_force(case, seed):
    S, verdicts, complete, rates = case
    P = scores(seed, S.shape)
    frequency = LabelFrequency.of(rates, S.shape, verified_of(verdicts, complete))
    threshold, f1 = pooled_threshold(HeldOut(P, as_labels(S), frequency))
    assert f1 == pytest.approx(max(f1_by_definition(P, case, t <= P) for t in np.unique(P)), abs=1e-12)
    assert f1 == pytest.approx(f1_by_definition(P, case, threshold <= P), abs=1e-12)
    t = scores(seed + 1, S.shape[1])
    expected = min(f1_by_definition(P, case, t <= P), 1.0)  # more labels may be expected than there are instances
    assert expected_f1(HeldOut(P, as_labels(S), frequency), t).f1 == pytest.approx(expected, abs=1e-12)


@given(cells(), seeds)
def test_the_threshold_of_a_label_by_brute_force(case, seed):
    """One label, every instance twenty times: enough annotations, where there are any, for a threshold of its own."""
    S, verdicts = (np.tile(part[:, :1], (20, 1)) for part in case[:2])
    complete = (np.arange(20)[:, None] * len(case[0]) + case[2]).ravel()
    case = S, verdicts, complete, case[3][:1]
    P = np.tile(scores(seed, (len(S) // 20, 1)), (20, 1))
    frequency = LabelFrequency.of(case[3], S.shape, verified_of(verdicts, complete))
    f1 = f1_by_definition(P, case, label_thresholds(HeldOut(P, as_labels(S), frequency), 0.5) <= P)
    found = true_by_definition(*case) > 0
    candidates = [np.float32(0.5), *(np.unique(P[by_definition(*case)[1] > 0]) if found.any() else ())]
    assert f1 == pytest.approx(max(f1_by_definition(P, case, t <= P) for t in candidates), abs=1e-12)


# The estimate of c


def separable(n=3000, q=3, c=0.5, seed=0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Probabilities of labels that are told apart, complete labels and annotations."""
    rng = np.random.default_rng(seed)
    Y = rng.random((n, q)) < 0.3
    P = np.where(Y, rng.uniform(0.4, 0.6, Y.shape), rng.uniform(0, 0.1, Y.shape)).astype(np.float32)
    return P, Y, Y & (rng.random((n, q)) < c)


@pytest.mark.parametrize("method", METHODS)
def test_complete_instances_tell_nothing_of_c(method):
    P, Y, S = separable()
    complete = np.arange(0, 3000, 2)
    S[complete] = Y[complete]
    found = estimate(P, as_labels(S), method, 1, VerifiedLabels.of(S.shape, complete=complete))
    rest = np.setdiff1d(np.arange(3000), complete)
    expected = estimate(P[rest], as_labels(S[rest]), method, 1)
    assert found.c == pytest.approx(expected.c, rel=1e-9)
    assert (found.predictable, found.labels.tolist()) == (expected.predictable, expected.labels.tolist())
    assert estimate(P, as_labels(S), "bbe").c > found.c + 0.2 or method != "bbe"


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("verdict", [FALSE, IGNORED], ids=str)
def test_false_and_ignored_cells_tell_nothing_of_c(method, verdict):
    P, _, S = separable()
    checked = np.random.default_rng(1).random(S.shape) < 0.3
    verified = verified_of(np.where(checked, verdict, UNKNOWN))
    changed = estimate(P, as_labels(S ^ checked), method, verified=verified)
    assert estimate(P, as_labels(S), method, verified=verified).c == changed.c
    for k in range(3):
        rest = ~checked[:, k]
        expected = estimate(P[rest][:, [k]], as_labels(S[rest][:, [k]]), method)
        found = estimate(P[:, [k]], as_labels(S[:, [k]]), method, verified=verified.block(np.array([k])))
        assert found.c == pytest.approx(expected.c, rel=1e-9)


def test_without_an_annotation_by_chance_there_is_no_estimate():
    P, _, S = separable(n=100)
    with refused(MpuError):
        estimate(P, as_labels(S), verified=VerifiedLabels.of(S.shape, complete=np.arange(100)))


@pytest.mark.parametrize("method", ["bbe", "e1"])
def test_c_from_a_collection_of_which_half_is_complete(method):
    """From features to c: complete instances neither count nor teach the classifier what is annotated."""
    X, Y = linear_problem(3000, 10, 4, slope=12.0)
    S = hide(Y, 0.6).toarray()
    S[:1500] = Y[:1500]
    verified = VerifiedLabels.of(Y.shape, complete=np.arange(1500))

    def found(rows, verified=None) -> float:
        sample = Sample(Instances(Features.of(as_features(X[rows])), as_labels(S[rows]), verified=verified), 2500, 3)
        return estimate(sample.naive_probabilities(), sample.labels, method, verified=sample.verified).c

    assert found(slice(None), verified) == pytest.approx(found(slice(1500, None)), abs=0.05)
    assert found(slice(None)) > found(slice(None), verified) + 0.1


@slow_uncompiled
@pytest.mark.parametrize("checked", ["what a model suggests", *slow("cells at random")])
def test_findings_change_neither_c_nor_the_number_of_true_labels(checked):
    """Suggestions are never annotated: what is found among them must not be counted beside what stands for it."""
    X, Y = linear_problem(3000, 10, 4, slope=12.0)
    S = hide(Y, 0.5)
    likely = X @ np.linalg.lstsq(X, Y, rcond=None)[0]
    cells = (likely > np.quantile(likely, 0.8)) & ~S.toarray()
    if checked == "cells at random":
        cells = np.random.default_rng(0).random(Y.shape) < 0.5
    verified = VerifiedLabels.of(Y.shape, true=(Y & cells).nonzero(), false=(~Y & cells).nonzero())
    assert (Y & cells & ~S.toarray()).sum() > 0.2 * Y.sum()
    _, before = train(Problem(as_features(X), S), quick(levels=1))
    _, after = train(Problem(as_features(X), S, verified=verified), quick(levels=1))
    assert before.chosen.c[0] == pytest.approx(0.5, abs=0.05)
    assert after.chosen.c[0] == pytest.approx(0.5, abs=0.05)
    assert after.expected_f1 == pytest.approx(before.expected_f1, abs=0.05)
    share = LabelFrequency.of(0.5, Y.shape, verified).true_labels(S).sum() / Y.sum()
    assert share == pytest.approx(1, abs=0.03)


# Learning


def mixed(n: int) -> tuple[np.ndarray, np.ndarray, VerifiedLabels, np.ndarray, tuple]:
    """A problem with cells of every kind: features, annotations, verified labels, rates; s and c by definition."""
    X, Y = linear_problem(n, 4, 3)
    S = hide(Y, 0.5).toarray()
    verdicts = np.where(Y, TRUE, FALSE) * (np.random.default_rng(0).random((n, 3)) < 0.2)
    verdicts[np.random.default_rng(1).random((n, 3)) < 0.2] = IGNORED
    complete = np.arange(0, n, 7)
    S[complete] = Y[complete]
    rates = np.linspace(0.4, 0.6, 3)
    return X, S, verified_of(verdicts, complete), rates, by_definition(S, verdicts, complete, rates)


@pytest.mark.usefixtures("kernel")
def test_converges_to_the_minimum_of_the_objective():
    X, S, verified, rates, (s, c) = mixed(n=600)
    frequency = LabelFrequency.of(rates, S.shape, verified)
    given = Features.of(as_features(X)), as_labels(S), np.arange(600)
    model = trained(*given, frequency, Settings(1.0, epochs=150))
    assert_minimal(model, X, s, c, cost=1.0, means=np.zeros((3, 4)), atol=0.08)


def test_the_bias_starts_at_the_share_of_the_cells_that_count():
    S = as_labels([[1, 1], [1, 1], [1, 0], [0, 0], [1, 1], [0, 0]])
    verdicts = np.array([[0, 3], [0, 3], [2, 3], [1, 3], [3, 3], [0, 3]])
    frequency = LabelFrequency.of(0.5, (6, 2), verified_of(verdicts, complete=[1]))
    # Label 0: 2 for the first, 1 for that of a complete instance, of five cells. Label 1: of no cell.
    assert_allclose(initial_bias(frequency.true_labels(S), frequency.cells(6)), [np.log(0.6 / 0.4), 0], rtol=1e-6)


# The whole algorithm, for which the second kernel is slow

one_kernel = pytest.mark.parametrize("kernel", [kernels.AVAILABLE[-1], *slow(*kernels.AVAILABLE[:-1])], indirect=True)
VARIANTS = {
    "all of it": {},
    "a sample": {"sample": 60},
    "thresholds a label": {"threshold": "per-label", "levels": 1},
    "a given threshold": {"threshold": 0.4, "levels": 1, "cost": 3.0},
    "a single pass": {"epochs": 1, "sample": 40, "cost": 3.0},
}
OTHERS = "a sample", "thresholds a label", "a given threshold"


@one_kernel
@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("variant", ["all of it", "a single pass", *slow(*OTHERS)])
def test_with_all_instances_complete_c_is_1(variant):
    X, Y = linear_problem(120, 6, 4)
    X, S = as_features(X), as_labels(Y)
    verified = VerifiedLabels.of(Y.shape, complete=np.arange(120))
    model, report = train(Problem(X, S, verified=verified), quick(c=0.6, **VARIANTS[variant]))
    complete, expected = train(Problem(X, S), quick(**VARIANTS[variant], c=1.0))
    assert as_bytes(model) == as_bytes(complete)
    assert (report.expected_f1, report.level_f1) == (expected.expected_f1, expected.level_f1)
    assert report.chosen.settings == expected.chosen.settings


@one_kernel
@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("variant", ["c estimated", "a single pass", *slow("all of it", *OTHERS)])
def test_an_ignored_cell_has_no_influence(variant):
    X, S, verified, rates, _ = mixed(n=100)
    changed = S.copy()
    ignored = verified.ignored()
    changed[ignored] ^= True
    assert len(ignored[0]) > 50
    options = quick(**{"c": rates} | VARIANTS.get(variant, {"c": None}))
    (model, report), (other, of_other) = (
        train(Problem(as_features(X), as_labels(s), verified=verified), options) for s in (S, changed)
    )
    assert as_bytes(model) == as_bytes(other)
    assert_array_equal(report.chosen.c, of_other.chosen.c)
    assert (report.expected_f1, report.level_f1) == (of_other.expected_f1, of_other.level_f1)
    without, _ = train(Problem(as_features(X), as_labels(S)), options)
    assert as_bytes(without) != as_bytes(model)
