"""The label frequency of every cell: what is known of labels goes through loss, kernels, bias, thresholds and c."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from mpu_cli.core.features import Features
from mpu_cli.core.known_labels import KnownLabels, Verdict
from mpu_cli.core.label_frequency import LabelFrequency
from mpu_cli.core.loss import pu_gradient, pu_loss
from mpu_cli.core.propensity import METHODS, estimate, estimate_per_label
from mpu_cli.core.sample import Sample
from mpu_cli.core.sgd import LinearModel, Settings, TrainingSet, initial_bias, train_linear
from mpu_cli.core.thresholds import estimated_f1, label_thresholds, pooled_threshold
from mpu_cli.core.training import Options, train
from mpu_cli.core.warm import WarmStart
from mpu_cli.errors import MpuError
from mpu_cli.runtime.resume import fingerprint
from mpu_cli.runtime.run import Run
from tests import kernels
from tests.core.simulated import as_features, as_labels, hide, linear_problem
from tests.core.test_training import as_bytes

UNKNOWN, TRUE, FALSE, IGNORED = Verdict


def known_of(verdicts: np.ndarray, complete=()) -> KnownLabels:
    """Take verdicts from a dense array."""
    lists = {name: np.nonzero(verdicts == v) for name, v in (("true", TRUE), ("false", FALSE), ("ignored", IGNORED))}
    return KnownLabels.of(verdicts.shape, complete=complete, **lists)


seeds = st.integers(0, 2**32)


@st.composite
def cells(draw):
    """Annotations and verdicts on cells, both dense, complete instances, and rates."""
    n, q = draw(st.integers(1, 8)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(seeds))
    verdicts = rng.choice(4, p=[0.4, 0.2, 0.2, 0.2], size=(n, q))
    return rng.random((n, q)) < 0.4, verdicts, np.flatnonzero(rng.random(n) < 0.3), rng.uniform(0.2, 1, q)


def true_by_definition(S, verdicts, complete, rates) -> np.ndarray:
    """How many true labels each cell stands for."""
    w = S / rates
    w[complete] = S[complete] | (verdicts[complete] == TRUE)
    w[(verdicts == FALSE) | (verdicts == IGNORED)] = 0
    return w


def by_definition(S, verdicts, complete, rates) -> tuple[np.ndarray, np.ndarray]:
    """Annotations as corrected and c, cell by cell."""
    s, c = S.copy(), np.tile(rates, (len(S), 1))
    c[complete] = 1
    s[verdicts == TRUE], c[verdicts == TRUE] = True, 1
    s[verdicts == FALSE], c[verdicts == FALSE] = False, 1
    s[verdicts == IGNORED], c[verdicts == IGNORED] = False, 0
    return s, c


@given(cells())
def test_every_cell_by_definition(case):
    S, verdicts, complete, rates = case
    s, c = by_definition(*case)
    frequency = LabelFrequency.of(rates, S.shape, known_of(verdicts, complete))
    assert_allclose(frequency.of_cells(slice(None)), c, rtol=1e-7)
    assert_array_equal(frequency.positives(as_labels(S)).toarray(), s)
    ignored = np.zeros(S.shape, bool)
    ignored[frequency.ignored()] = True
    assert_array_equal(ignored, c == 0)
    true = true_by_definition(*case)
    by_chance, certain = (part.toarray() for part in frequency.counted(as_labels(S)))
    assert_allclose(by_chance / rates + certain, true)
    assert_allclose(frequency.true_labels(as_labels(S)), true.sum(axis=0))
    share, counted = frequency.shares(as_labels(S))
    assert_array_equal(counted, (c > 0).sum(axis=0))
    assert_allclose(share, true.sum(axis=0) / np.maximum(counted, 1))


@given(cells(), st.data())
def test_rows_and_blocks_commute(case, data):
    S, verdicts, complete, rates = case
    n, q = S.shape
    rows = np.array(data.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=n, unique=True)))
    block = slice(*sorted(data.draw(st.tuples(st.integers(0, q), st.integers(0, q)))))
    frequency = LabelFrequency.of(rates, S.shape, known_of(verdicts, complete))
    _, c = by_definition(*case)
    for part in (frequency.rows(rows).block(block), frequency.block(block).rows(rows)):
        assert_allclose(part.of_cells(slice(None)), c[rows][:, block], rtol=1e-7)
        assert_array_equal(
            part.positives(as_labels(S[rows][:, block])).toarray(),
            frequency.positives(as_labels(S)).toarray()[rows][:, block],
        )
    assert_allclose(frequency.of_cells(rows), c[rows], rtol=1e-7)


@given(cells())
def test_what_was_found_is_found_again(case):
    """Corrected annotations can be corrected once more."""
    S, verdicts, complete, rates = case
    frequency = LabelFrequency.of(rates, S.shape, known_of(verdicts, complete))
    s = frequency.positives(as_labels(S))
    assert_array_equal(frequency.positives(s).toarray(), s.toarray())


def test_large_collections_cost_what_is_known_of_them():
    n, q = 800_000, 100_000
    rng = np.random.default_rng(0)
    where = rng.integers(n, size=1000), rng.integers(q, size=1000)
    known = KnownLabels.of((n, q), true=where, complete=np.arange(0, n, 2))
    part = LabelFrequency.of(0.5, (n, q), known).rows(np.arange(1, n, 4)).block(slice(64, 128))
    assert part.of_cells(slice(0, 10)).shape == (10, 64)
    assert known.cells.nnz == 1000


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        ({"true": ([1], [2]), "false": ([1], [2])}, "instance 1, label 2 has two different verdicts"),
        ({"ignored": ([4], [0])}, "no instance 4, only 0 to 3"),
        ({"false": ([0], [-1])}, "no label -1, only 0 to 2"),
        ({"complete": [7]}, "no instance 7"),
        ({"complete": [True, False]}, "2 instances are said to be complete or not, of 4"),
        ({"true": ([1, 2], [2])}, "as many instances as labels"),
    ],
)
def test_mistaken_verdicts(mistake, message):
    with pytest.raises(MpuError, match=message):
        KnownLabels.of((4, 3), **mistake)


def test_complete_instances_by_number_or_by_truth_value():
    numbers, values = (KnownLabels.of((4, 3), complete=complete) for complete in ([1, 3], [False, True, False, True]))
    assert_array_equal(numbers.instances, values.instances)
    assert_array_equal(numbers.instances, [UNKNOWN, FALSE, UNKNOWN, FALSE])


@pytest.mark.parametrize("c", [0.0, 1.1, np.nan, [0.5, 0.0, 1.0], [0.5, 0.5]], ids=str)
def test_mistaken_frequencies(c):
    with pytest.raises(MpuError, match="c "):
        LabelFrequency.of(c, (4, 3))


def test_known_labels_of_other_data():
    X, Y = linear_problem(20, 2, 3)
    with pytest.raises(MpuError, match=r"shape \(20, 2\), and the annotated labels \(20, 3\)"):
        train(as_features(X), as_labels(Y), Options(c=0.5, cost=1.0, known=KnownLabels.of((20, 2))))


# Learning


def mixed(n=300, D=4, q=3, seed=0) -> tuple[np.ndarray, np.ndarray, KnownLabels, np.ndarray, tuple]:
    """A problem with cells of every kind: features, annotations, what is known, rates; s and c by definition."""
    X, Y = linear_problem(n, D, q, seed)
    S = hide(Y, 0.5, seed).toarray()
    verdicts = np.where(Y, TRUE, FALSE) * (np.random.default_rng(seed).random((n, q)) < 0.2)
    verdicts[np.random.default_rng(seed + 1).random((n, q)) < 0.2] = IGNORED
    complete = np.arange(0, n, 7)
    S[complete] = Y[complete]
    rates = np.linspace(0.4, 0.6, q)
    return X, S, known_of(verdicts, complete), rates, by_definition(S, verdicts, complete, rates)


def training_set(X, S) -> TrainingSet:
    return TrainingSet(Features.of(as_features(X)), as_labels(S), np.arange(len(X)))


@pytest.fixture(params=kernels.AVAILABLE)
def kernel(request):
    with kernels.default(request.param):
        yield


def test_gradient_of_the_objective_by_finite_differences():
    X, S, known, rates, _ = mixed(n=40)
    frequency = LabelFrequency.of(rates, S.shape, known)
    s, c = frequency.positives(as_labels(S)).toarray(), frequency.of_cells(slice(None))
    W = np.random.default_rng(0).normal(size=(4, 3))

    def objective(W) -> float:
        return pu_loss(X @ W, s, c).sum()

    gradient = X.T @ pu_gradient(X @ W, s, c)
    for place in np.ndindex(W.shape):
        step = np.zeros_like(W)
        step[place] = 1e-5
        assert gradient[place] == pytest.approx((objective(W + step) - objective(W - step)) / 2e-5, rel=1e-6, abs=1e-6)


def test_loss_of_each_kind_of_cell():
    z = np.array([-3.0, 0.0, 2.0])
    for s in (False, True):  # what is known outweighs the annotation
        case = [[s]], [[TRUE]], [], np.array([0.3])
        assert_allclose(loss_and_gradient(z, *case), loss_and_gradient(z, [[True]], [[UNKNOWN]], [], np.array([0.3])))
        case = [[s]], [[FALSE]], [], np.array([0.3])
        assert_allclose(loss_and_gradient(z, *case), loss_and_gradient(z, [[False]], [[UNKNOWN]], [], np.array([1.0])))
        case = [[s]], [[IGNORED]], [], np.array([0.3])
        assert_array_equal(loss_and_gradient(z, *case), np.zeros((2, 3)))
        case = [[s]], [[UNKNOWN]], [0], np.array([0.3])
        assert_allclose(loss_and_gradient(z, *case), loss_and_gradient(z, [[s]], [[UNKNOWN]], [], np.array([1.0])))


def loss_and_gradient(z, S, verdicts, complete, rates) -> tuple[np.ndarray, np.ndarray]:
    frequency = LabelFrequency.of(rates, (1, 1), known_of(np.array(verdicts), complete))
    s, c = frequency.positives(as_labels(S)).toarray(), frequency.of_cells(slice(None))
    return pu_loss(z, s[0], c[0]), pu_gradient(z, s[0], c[0])


@pytest.mark.usefixtures("kernel")
def test_converges_to_the_minimum_of_the_objective():
    X, S, known, rates, (s, c) = mixed(n=600)
    model = train_linear(training_set(X, S), LabelFrequency.of(rates, S.shape, known), Settings(1.0, epochs=150))
    for k in range(3):

        def value_and_gradient(v, s=s[:, k], c=c[:, k]):
            z, n = X @ v[:-1] + v[-1], len(X)
            gradient = pu_gradient(z, s, c) / n
            value = pu_loss(z, s, c).mean() + v[:-1] @ v[:-1] / (2 * n)
            return value, np.append(gradient @ X + v[:-1] / n, gradient.sum())

        least = minimize(value_and_gradient, np.zeros(5), jac=True)
        assert value_and_gradient(np.append(model.weights[:, k], model.bias[k]).astype(float))[0] <= least.fun * 1.01
        assert_allclose(model.weights[:, k], least.x[:-1], atol=0.08 * np.abs(least.x).max())


@pytest.mark.usefixtures("kernel")
def test_complete_instances_are_logistic_regression():
    X, Y = linear_problem(400, 5, 3)
    frequency = LabelFrequency.of(0.3, Y.shape, KnownLabels.of(Y.shape, complete=np.arange(400)))
    model = train_linear(training_set(X, Y), frequency, Settings(3.0, epochs=150))
    for k in range(3):
        fitted = LogisticRegression(C=3.0, tol=1e-8, max_iter=1000).fit(X.astype(float), Y[:, k])
        assert_allclose(model.weights[:, k], fitted.coef_[0], atol=0.05 * np.abs(fitted.coef_).max())


@pytest.mark.usefixtures("kernel")
def test_a_checked_negative_pulls_down_as_with_complete_labels():
    X, Y = linear_problem(200, 5, 3)
    S = hide(Y, 0.5).toarray()
    found_false = np.where(S[:, 1:2] | [[True, False, True]], UNKNOWN, FALSE)
    checked = LabelFrequency.of(0.5, S.shape, known_of(found_false))
    expected = LabelFrequency(np.array([0.5, 1.0, 0.5]))
    start = LinearModel(np.zeros((5, 3), np.float32), np.zeros(3, np.float32))
    one, other = (
        train_linear(training_set(X, S), frequency, Settings(), start=start) for frequency in (checked, expected)
    )
    assert_array_equal(one.weights, other.weights)
    assert_array_equal(one.bias, other.bias)


@pytest.mark.usefixtures("kernel")
def test_a_checked_positive_is_learned_as_an_annotated_one():
    X, Y = linear_problem(200, 5, 3)
    S = hide(Y, 0.5)
    checked = LabelFrequency.of(0.5, S.shape, KnownLabels.of(S.shape, true=(Y & ~S.toarray()).nonzero()))
    start = LinearModel(np.zeros((5, 3), np.float32), np.zeros(3, np.float32))
    one = train_linear(training_set(X, S.toarray()), checked, Settings(), start=start)
    other = train_linear(training_set(X, Y), LabelFrequency(checked.rates), Settings(), start=start)
    assert_array_equal(one.weights, other.weights)
    assert_array_equal(one.bias, other.bias)


def test_the_bias_starts_at_the_share_of_the_cells_that_count():
    S = as_labels([[1, 1], [1, 1], [1, 0], [0, 0], [1, 1], [0, 0]])
    verdicts = np.array([[0, 3], [0, 3], [2, 3], [1, 3], [3, 3], [0, 3]])
    frequency = LabelFrequency.of(0.5, (6, 2), known_of(verdicts, complete=[1]))
    # Label 0: 2 for the first, 1 for that of a complete instance, of five cells. Label 1: of no cell.
    assert_allclose(initial_bias(S, frequency), [np.log(0.6 / 0.4), 0], rtol=1e-6)


# The whole algorithm


VARIANTS = {
    "all of it": {},
    "a sample": {"sample": 60},
    "thresholds a label": {"threshold": "per-label", "levels": 1},
    "a given threshold": {"threshold": 0.4, "levels": 1, "cost": 3.0},
    "a single pass": {"epochs": 1, "sample": 40, "cost": 3.0},
}


def quick(**changes) -> Options:
    return Options(**({"folds": 3, "epochs": 2, "c": 0.6} | changes))


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
def test_with_all_instances_complete_c_is_1(variant):
    X, Y = linear_problem(120, 6, 4)
    X, S = as_features(X), as_labels(Y)
    known = KnownLabels.of(Y.shape, complete=np.arange(120))
    model, report = train(X, S, quick(**variant, known=known))
    complete, expected = train(X, S, quick(**variant | {"c": 1.0}))
    assert as_bytes(model) == as_bytes(complete)
    assert (report.expected_f1, report.level_f1, report.settings) == (
        expected.expected_f1, expected.level_f1, expected.settings,
    )  # fmt: skip
    start = WarmStart(complete, np.array([0, -1, 2, 3]), expected.settings)
    warm, cold = (train(X, S, quick(**variant | more), start=start)[0] for more in ({"known": known}, {"c": 1.0}))
    assert as_bytes(warm) == as_bytes(cold)


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("variant", [*VARIANTS.values(), {"c": None}], ids=[*VARIANTS, "c estimated"])
def test_an_ignored_cell_has_no_influence(variant):
    X, S, known, rates, _ = mixed(n=150)
    changed = S.copy()
    ignored = known.ignored()
    changed[ignored] ^= True
    assert len(ignored[0]) > 50
    options = quick(**{"c": rates} | variant, known=known)
    (model, report), (other, of_other) = (train(as_features(X), as_labels(s), options) for s in (S, changed))
    assert as_bytes(model) == as_bytes(other)
    assert_array_equal(report.c, of_other.c)
    assert (report.expected_f1, report.level_f1) == (of_other.expected_f1, of_other.level_f1)
    without, _ = train(as_features(X), as_labels(S), replace(options, known=None))
    assert as_bytes(without) != as_bytes(model)


def test_a_journal_tells_known_labels_apart():
    X, S, known, _, _ = mixed(n=20)
    options = [quick(known=k) for k in (None, known, known.left_to_chance(), KnownLabels.of(S.shape, complete=[3]))]
    assert len({fingerprint(Run(), X, as_labels(S), o) for o in options}) == 4
    assert fingerprint(Run(), quick(known=known)) == fingerprint(Run(), quick(known=mixed(n=20)[2]))


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
    frequency = LabelFrequency.of(rates, S.shape, known_of(verdicts, complete))
    threshold, f1 = pooled_threshold(P, as_labels(S), frequency)
    assert f1 == pytest.approx(max(f1_by_definition(P, case, t <= P) for t in np.unique(P)), abs=1e-12)
    assert f1 == pytest.approx(f1_by_definition(P, case, threshold <= P), abs=1e-12)
    t = scores(seed + 1, S.shape[1])
    assert estimated_f1(P, as_labels(S), frequency, t) == pytest.approx(f1_by_definition(P, case, t <= P), abs=1e-12)


@given(cells(), seeds)
def test_the_threshold_of_a_label_by_brute_force(case, seed):
    """One label, every instance twenty times: enough annotations, where there are any, for a threshold of its own."""
    S, verdicts = (np.tile(part[:, :1], (20, 1)) for part in case[:2])
    complete = (np.arange(20)[:, None] * len(case[0]) + case[2]).ravel()
    case = S, verdicts, complete, case[3][:1]
    P = np.tile(scores(seed, (len(S) // 20, 1)), (20, 1))
    frequency = LabelFrequency.of(case[3], S.shape, known_of(verdicts, complete))
    thresholds, f1 = label_thresholds(P, as_labels(S), frequency, 0.5)
    assert f1 == pytest.approx(f1_by_definition(P, case, thresholds <= P), abs=1e-12)
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
    found = estimate(P, as_labels(S), method, 20, 1, KnownLabels.of(S.shape, complete=complete))
    rest = np.setdiff1d(np.arange(3000), complete)
    expected = estimate(P[rest], as_labels(S[rest]), method, 20, 1)
    assert found.c == pytest.approx(expected.c, rel=1e-9)
    assert (found.separable, found.labels.tolist()) == (expected.separable, expected.labels.tolist())
    assert estimate(P, as_labels(S), "bbe").c > found.c + 0.2 or method != "bbe"


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("verdict", [FALSE, IGNORED], ids=str)
def test_false_and_ignored_cells_tell_nothing_of_c(method, verdict):
    P, _, S = separable()
    checked = np.random.default_rng(1).random(S.shape) < 0.3
    known = known_of(np.where(checked, verdict, UNKNOWN))
    alone = estimate_per_label(P, as_labels(S), method, known=known)
    changed = estimate(P, as_labels(S ^ checked), method, known=known)
    assert estimate(P, as_labels(S), method, known=known).c == changed.c
    for k in range(3):
        rest = ~checked[:, k]
        expected = estimate(P[rest][:, [k]], as_labels(S[rest][:, [k]]), method)
        assert alone[k].c == pytest.approx(expected.c, rel=1e-9)


def test_labels_with_few_annotations_by_chance_have_no_estimate_of_their_own():
    P, _, S = separable()
    known = KnownLabels.of(S.shape, ignored=(np.flatnonzero(S[:, 1])[49:], np.ones(S[:, 1].sum() - 49, int)))
    found = estimate_per_label(P, as_labels(S), known=known)
    assert [own is None for own in found] == [False, True, False]


def test_without_an_annotation_by_chance_there_is_no_estimate():
    P, _, S = separable(n=100)
    with pytest.raises(MpuError, match="complete instances or ignored"):
        estimate(P, as_labels(S), known=KnownLabels.of(S.shape, complete=np.arange(100)))


@pytest.mark.parametrize("method", ["bbe", "e1"])
def test_c_from_a_collection_of_which_half_is_complete(method):
    """From features to c: complete instances neither count nor teach the classifier what is annotated."""
    X, Y = linear_problem(3000, 10, 4, slope=12.0)
    S = hide(Y, 0.6).toarray()
    S[:1500] = Y[:1500]
    known = KnownLabels.of(Y.shape, complete=np.arange(1500))

    def found(rows, known=None) -> float:
        sample = Sample(Features.of(as_features(X[rows])), as_labels(S[rows]), 2500, 3, known=known)
        return estimate(sample.naive_probabilities(), sample.labels, method, known=sample.known).c

    assert found(slice(None), known) == pytest.approx(found(slice(1500, None)), abs=0.05)
    assert found(slice(None)) > found(slice(None), known) + 0.1


@pytest.mark.parametrize("checked", ["what a model suggests", "cells at random"])
def test_findings_change_neither_c_nor_the_number_of_true_labels(checked):
    """Suggestions are never annotated: what is found among them must not be counted beside what stands for it."""
    X, Y = linear_problem(3000, 10, 4, slope=12.0)
    S = hide(Y, 0.5)
    likely = X @ np.linalg.lstsq(X, Y, rcond=None)[0]
    cells = (likely > np.quantile(likely, 0.8)) & ~S.toarray()
    if checked == "cells at random":
        cells = np.random.default_rng(0).random(Y.shape) < 0.5
    known = KnownLabels.of(Y.shape, true=(Y & cells).nonzero(), false=(~Y & cells).nonzero())
    assert (Y & cells & ~S.toarray()).sum() > 0.2 * Y.sum()
    _, before = train(as_features(X), S, quick(c=None, levels=1))
    _, after = train(as_features(X), S, quick(c=None, levels=1, known=known))
    assert before.c[0] == pytest.approx(0.5, abs=0.05)
    assert after.c[0] == pytest.approx(0.5, abs=0.05)
    assert after.expected_f1 == pytest.approx(before.expected_f1, abs=0.05)
    share = LabelFrequency.of(0.5, Y.shape, known).true_labels(S).sum() / Y.sum()
    assert share == pytest.approx(1, abs=0.03)


def test_estimated_c_is_laid_under_what_is_known():
    X, S, known, _, _ = mixed(n=300)
    _, report = train(as_features(X), as_labels(S), quick(c=None, levels=1, known=known))
    assert report.c.tolist() == [report.estimate.c] * 3
