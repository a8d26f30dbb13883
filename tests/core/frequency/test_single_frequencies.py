import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from scipy.special import expit
from sklearn.metrics import f1_score

from mpu_cli import MPUClassifier, MpuWarning, estimate_c
from mpu_cli.core.frequency.ceilings import likelihoods, quantiles
from mpu_cli.core.frequency.estimators import CountedCells
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.frequency.single_frequencies import (
    FEWEST_OF_GROUP,
    alike,
    differ,
    estimate_groups,
    missing,
    of_all_groups,
)
from mpu_cli.core.problem import InstanceGroups, VerifiedLabels
from mpu_cli.people.posteriors import count_missing_labels
from tests.core.frequency.cells import estimate
from tests.core.frequency.test_estimators import beside, separable
from tests.core.simulated import as_labels, linear_problem
from tests.slow import slow

N, Q = 1500, 30


def simulated(kind: str, seed: int):
    """Labels that the features tell apart (or not), with one frequency or one for each; the truth is what was kept."""
    rng = np.random.default_rng(seed)
    z = rng.normal(-2, 4, (N, Q))
    if kind == "not told apart":
        z[:, Q // 2 :] = rng.normal(-2, 0.3, (N, Q // 2))
    rates = rng.uniform(0.1, 0.9, Q) if kind == "own rates" else np.full(Q, 0.6)
    true = rng.random(z.shape) < expit(z)
    annotated = true & (rng.random(z.shape) < rates)
    return expit(z).astype(np.float32), csr_array(annotated), annotated.sum(axis=0) / true.sum(axis=0)


def singly(probabilities, labels):
    of_all = estimate(probabilities, labels)
    return of_all, alike(CountedCells.of(probabilities, labels), of_all, np.full(Q, of_all.c))


@pytest.mark.slow  # 5 draws of 30 labels
@pytest.mark.parametrize("kind", ["one rate", "own rates", "not told apart"])
def test_intervals_cover_what_was_kept(kind):
    inside = []
    for seed in range(5):
        probabilities, labels, kept = simulated(kind, seed)
        _, single = singly(probabilities, labels)
        inside.append((single.intervals[:, 0] <= kept) & (kept <= single.intervals[:, 1]))
    assert np.mean(inside) >= 0.9


@pytest.fixture(scope="module")
def of_one_rate():
    probabilities, labels, _ = simulated("one rate", 0)
    return singly(probabilities, labels)


def test_labels_that_agree_share_the_pooled_estimate_and_narrow_intervals(of_one_rate):
    of_all, single = of_one_rate
    assert_array_equal(single.c, of_all.c)
    assert np.ptp(single.intervals, axis=1).max() < np.ptp(of_all.interval) + 0.1
    assert not single.unreliable.any()


@pytest.mark.parametrize("q", [8, 520])
def test_labels_that_are_annotated_always_do_not_speak_for_others(q):
    rng, kept = np.random.default_rng(0), np.where(np.arange(q) < q / 8, 0.98, 0.25)
    z = rng.normal(-2, 4, (32_000 // q + 1000, q))
    true = rng.random(z.shape) < expit(z)
    found = estimate_c(scores=expit(z), y=true & (rng.random(z.shape) < kept))
    assert found.c == pytest.approx((true * kept).sum() / true.sum(), rel=0.15)  # 0.97 by the best bins


def test_labels_that_differ_have_frequencies_of_their_own():
    probabilities, labels, kept = simulated("own rates", 0)
    single = estimate_c(scores=probabilities, y=labels, per_label=True)
    assert np.abs(np.log(single.c / kept)).mean() < 0.15
    of_all = estimate_c(scores=probabilities, y=labels)
    true = (labels.sum(axis=0) / kept).sum()
    assert of_all.c == pytest.approx(labels.nnz / true, rel=0.1)
    assert of_all.interval[0] <= labels.nnz / true <= of_all.interval[1]


@pytest.mark.parametrize(
    ("n", "rates", "seed"),
    [(800, (0.3, 0.8, 6), 3), (800, (0.3, 0.8, 6), 5), (800, (0.3, 0.8, 6), 1), (1500, (0.5, 0.85, 30), 2)],
)
def test_the_interval_covers_both_cases_if_it_is_open_whether_labels_differ(n, rates, seed):
    rng = np.random.default_rng(seed)
    z = rng.normal(-2, 4, (n, rates[-1]))
    Y = rng.random(z.shape) < expit(z)
    S = Y & (rng.random(Y.shape) < np.linspace(*rates))
    one, truth = estimate(expit(z).astype(np.float32), as_labels(S)), S.sum() / Y.sum()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MpuWarning)  # wide intervals are unreliable
        found = estimate_c(scores=expit(z), y=S)
    assert one.interval[0] > truth > found.interval[0]
    assert found.interval[1] > 0.95 > one.interval[0]


@pytest.mark.parametrize("seed", range(3))
def test_the_interval_covers_if_few_labels_have_many_annotations_and_the_others_are_annotated_less(seed):
    rng, labels = np.random.default_rng(seed), np.arange(60)
    z = rng.normal(-4, 4, (1000, 60)) - 2 * np.log(labels + 1)
    Y = rng.random(z.shape) < expit(z)
    S = Y & (rng.random(Y.shape) < np.where(labels < 2, 0.85, 0.45))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MpuWarning)  # wide intervals are unreliable
        low, high = estimate_c(scores=expit(z), y=S).interval
    assert low <= S.sum() / Y.sum() <= high


def test_the_frequency_of_a_label_whose_cells_are_all_ignored():
    rng = np.random.default_rng(0)
    Y = rng.random((1500, 8)) < 0.25
    X, S = Y + rng.normal(0, 0.2, Y.shape), Y & (rng.random(Y.shape) < np.linspace(0.15, 0.9, 8))
    ignored = np.arange(8) + np.zeros((1500, 1)) == 0
    found = estimate_c(X, S, ignored=ignored, per_label=True, features="linear")
    assert_allclose(found.c[1:], (S.sum(axis=0) / Y.sum(axis=0))[1:], atol=0.1)
    assert 0 < found.c[0] < 1


def test_the_ceiling_of_a_label_that_features_do_not_predict_is_open_and_depends_on_no_other_label():
    """Whatever is annotated, scores that fall with it say nothing."""
    scores = np.linspace(0.1, 0.9, 1000, dtype=np.float32)
    falling, rising = (scores, np.arange(1000) < 100), (scores, np.arange(1000) >= 900)
    likelihood = likelihoods([falling, rising])
    assert_array_equal(likelihood, np.hstack([likelihoods([label]) for label in (falling, rising)]))
    (low, high), (surely, _) = quantiles(likelihood, [0.05, 0.95]).T
    assert low < 0.2 < 0.9 < surely < high


def test_a_label_of_nearly_all_instances_does_not_make_labels_differ():
    rng = np.random.default_rng(0)
    z = rng.normal(-2, 4, (3000, 6))
    full = np.linspace(0.9, 1, 3000)[:, None], as_labels(np.arange(3000)[:, None] % 50 > 0)
    P, S = beside((expit(z), as_labels(rng.random(z.shape) < 0.4 * expit(z))), full)
    with pytest.warns(MpuWarning, match="left out"):
        found, single = estimate_c(scores=P, y=S), estimate_c(scores=P, y=S, per_label=True)
    assert found.c == pytest.approx(0.4, abs=0.03)
    assert_array_equal(single.c[:6], found.c)


def test_a_model_learns_with_frequencies_of_their_own():
    rng, rates = np.random.default_rng(0), np.linspace(0.15, 0.9, 8)
    Y = rng.random((1500, 8)) < 0.25
    X, S = Y + rng.normal(0, 0.2, Y.shape), Y & (rng.random(Y.shape) < rates)
    model = MPUClassifier(levels=1, C=30, epochs=2).fit(X, S)
    assert_allclose(model.c_, S.sum(axis=0) / Y.sum(axis=0), atol=0.1)
    assert f1_score(Y, model.predict(X), average="micro") > 0.95  # 0.81 with 0.88 for all labels


@pytest.mark.parametrize("kind", ["one rate", "not told apart"])
def test_labels_that_do_not_visibly_differ_have_one_frequency(kind):
    probabilities, labels, _ = simulated(kind, 0)
    single = estimate_c(scores=probabilities, y=labels, per_label=True)
    assert_array_equal(single.c, estimate_c(scores=probabilities, y=labels).c)


def test_few_annotations_give_the_pooled_estimate_and_a_wide_interval():
    probabilities, labels, _ = simulated("one rate", 0)
    few = labels.toarray()
    few[40:, 3] = False
    of_all, single = singly(probabilities, csr_array(few))
    assert single.pooled.all()
    assert single.c[3] == of_all.c
    assert single.intervals[3, 0] < single.intervals[4, 0]


def test_labels_that_were_not_drawn_are_not_known(of_one_rate):
    of_all, single = of_one_rate
    columns = np.arange(Q) * 2
    wider = single.of_all(2 * Q, columns, of_all.c)
    np.testing.assert_array_equal(wider.c[columns], single.c)
    assert wider.c[1] == of_all.c
    assert wider.pooled[1] and wider.unreliable[1]


def test_missing_labels_sum_to_those_of_all():
    annotations, cells, c = np.array([10, 20, 0]), np.full(3, 40), np.array([0.5, 0.8, 0.5])
    np.testing.assert_allclose(missing(annotations, cells, c, 0.5), [20, 10, 0])
    np.testing.assert_allclose(missing(annotations, cells, np.ones(3), 0.5).sum(), 30)
    np.testing.assert_allclose(missing(annotations, np.full(3, 25), c, 0.5), [15, 5, 0])  # no other cells are left


@pytest.mark.parametrize(
    ("c", "clearly"),
    [
        (np.full(40, 0.6), False),
        (np.where(np.arange(60) < 20, 0.9, 0.2 + 0.01 * np.arange(60)), True),
        *slow((np.full(40, 0.3), False), (np.full(40, 1.0), False)),
    ],
    ids=str,
)
def test_whether_labels_differ_whose_scores_have_another_scale(c, clearly):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        z = rng.normal(-2, 4, (1500, len(c)))
        labels = as_labels(rng.random(z.shape) < c * expit(z))
        assert differ(CountedCells.of(expit(0.7 * z - 0.5).astype(np.float32), labels)) == clearly


# Groups of instances


def test_c_of_each_group_is_estimated():
    good, bad = separable(2000, 4, 0.8), separable(2000, 4, 0.2, seed=1)
    P, S = np.vstack([good[0], bad[0]]), as_labels(np.vstack([good[1].toarray(), bad[1].toarray()]))
    groups = InstanceGroups(np.repeat([1, 0], 2000), ("bad", "good"))
    suggested = S.sum(axis=1)  # features tell the groups apart, so both have as many annotations as suggested
    found = estimate_groups(CountedCells.of(P, S), groups, estimate(P, S), suggested, told=np.ones(2))
    assert_allclose(found.c, [0.2, 0.8], atol=0.03)
    assert ((found.intervals[:, 0] <= found.c) & (found.c <= found.intervals[:, 1])).all()
    assert not found.pooled.any()
    annotations = groups.sums(np.diff(S.indptr))
    combined = of_all_groups(found, estimate(P, S), annotations)
    assert combined.interval[0] <= combined.c <= combined.interval[1]
    assert combined.c == pytest.approx(S.nnz / (annotations / found.c).sum())


def test_groups_that_features_do_not_tell_apart_are_compared_by_their_annotations():
    """Alone, each rests on few annotations of rare labels, of which the best are chosen."""
    rng, n, q = np.random.default_rng(0), 1800, 60
    p = rng.beta(0.1, 1.5, (n, q)).astype(np.float32)
    S = csr_array(rng.random((n, q)) < 0.4 * p)
    cells, drawn = CountedCells.of(0.4 * p, S), InstanceGroups(np.arange(n) % 3, ("a", "b", "c"))
    of_all = estimate(cells.probabilities, S)
    found = estimate_groups(cells, drawn, of_all, 0.4 * p.sum(axis=1), told=np.zeros(3))
    assert np.ptp(found.c) < 0.1
    assert_allclose(found.c, of_all.c, rtol=0.2)
    tiny = InstanceGroups(np.arange(n) // 3, tuple(map(str, range(n // 3))))
    found = estimate_groups(cells, tiny, of_all, 0.4 * p.sum(axis=1), told=np.zeros(n // 3))
    assert np.mean(found.pooled & np.isclose(found.c, of_all.c)) > 0.98


@pytest.mark.parametrize("kept", [0.05, 0.5, 1.0])
def test_c_of_a_small_group_comes_from_its_share_of_the_suggested_annotations(kept):
    P, S = separable(3000, 4, 0.5)
    rng, of_instances = np.random.default_rng(5), (np.arange(3000) % 20 == 0).astype(int)
    true = P > 0.25
    S = csr_array(np.where(of_instances[:, None], true & (rng.random(true.shape) < kept), S.toarray()))
    groups, suggested = InstanceGroups(of_instances, ("large", "small", "absent")), true.sum(axis=1).astype(float)
    found = estimate_groups(CountedCells.of(P, S), groups, estimate(P, S), suggested, told=np.zeros(3))
    assert groups.sums(np.diff(S.indptr))[1] < FEWEST_OF_GROUP
    assert_allclose(found.c, [0.5, kept, 0.5], rtol=0.25, atol=0.03)
    assert found.intervals[1, 0] <= kept <= found.intervals[1, 1]
    assert not found.unknown.any()


def test_counts_are_those_of_each_group_alone():
    rng, C = np.random.default_rng(0), np.array([0.8, 0.2])
    _, S = beside(separable(300, 3, 0.5), separable(300, 2, 0.3, seed=1))
    verified = VerifiedLabels.of((300, 5), true=([0, 1], [0, 4]), false=([2], [1]), ignored=([3], [3]), complete=[5, 9])
    of_instances = C[rng.integers(0, 2, 300)]
    whole = LabelFrequency.of(0.5, (300, 5), verified, of_instances)
    rows = [np.flatnonzero(of_instances == c) for c in C]
    alone = [LabelFrequency.of(c, (len(one), 5), verified.rows(one)) for c, one in zip(C, rows, strict=True)]
    parts = [csr_array(S[one]) for one in rows]
    expected = sum(one.true_labels(part) for one, part in zip(alone, parts, strict=True))
    assert_allclose(whole.true_labels(S), expected)
    missing = [count_missing_labels(part, one)[1].expected for one, part in zip(alone, parts, strict=True)]
    assert count_missing_labels(S, whole)[1].expected == pytest.approx(sum(missing))
    for one, of_group in zip(alone, rows, strict=True):
        assert_allclose(whole.rows(of_group).of_cells(slice(None)), one.of_cells(slice(None)))


@pytest.mark.filterwarnings("ignore::mpu_cli.errors.MpuWarning")  # some intervals are wide
@pytest.mark.parametrize("kept", [1.0, 0.6])
def test_c_comes_from_instances_with_labels_where_nobody_has_looked_at_the_others(kept):
    X, Y = linear_problem(600, 10, 8, slope=4.0)
    rng = np.random.default_rng(0)
    S = Y & (rng.random((600, 1)) < 0.4) & (rng.random(Y.shape) < kept)
    found, of_labels = (estimate_c(X, S, per_label=per_label, features="linear") for per_label in (False, True))
    assert found.c == pytest.approx(S.sum() / Y.sum(), abs=0.05)
    assert found.interval[0] < S.sum() / Y.sum() < found.interval[1]
    assert "nobody has looked" in found.assumption
    share, (low, high) = S.sum(axis=0) / Y.sum(axis=0), of_labels.intervals.T
    assert ((low <= share) & (share <= high)).mean() >= 0.75
