import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import expit

from mpu_cli.core.frequency.estimators import CountedCells, estimate
from mpu_cli.core.frequency.single_frequencies import agreement, estimate_singly, missing
from tests.core.simulated import as_labels
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
    of_all = estimate(probabilities, labels, replicates=50)
    return of_all, estimate_singly(CountedCells.of(probabilities, labels, None), "bbe", of_all)


@pytest.mark.slow  # 5 bootstraps of 30 labels
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
    np.testing.assert_allclose(single.c, of_all.c, rtol=0.1)
    assert np.ptp(single.intervals, axis=1).max() < 0.4
    assert not single.unreliable.any()


@pytest.mark.slow
def test_labels_that_differ_keep_their_own():
    probabilities, labels, kept = simulated("own rates", 0)
    _, single = singly(probabilities, labels)
    assert np.abs(np.log(single.c / kept)).mean() < 0.15


def test_few_annotations_give_the_pooled_estimate_and_a_wide_interval():
    probabilities, labels, _ = simulated("one rate", 0)
    few = labels.toarray()
    few[40:, 3] = False
    of_all, single = singly(probabilities, csr_array(few))
    assert single.pooled.tolist() == [k == 3 for k in range(Q)]
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
    annotations, c = np.array([10, 20, 0]), np.array([0.5, 0.8, 0.5])
    np.testing.assert_allclose(missing(annotations, c, 0.5), [20, 10, 0])
    np.testing.assert_allclose(missing(annotations, np.ones(3), 0.5).sum(), 30)


def annotated(c, n=1500, seed=0):
    """Labels that a score tells well, annotated with probability c; predictions on another scale, as from a model."""
    rng = np.random.default_rng(seed)
    z = rng.normal(-2, 4, (n, len(c)))
    return expit(0.7 * z - 0.5).astype(np.float32), as_labels(rng.random(z.shape) < c * expit(z))


def agreeing(probabilities, labels, verified=None):
    return agreement(CountedCells.of(probabilities, labels, verified))


@pytest.mark.parametrize("c", [0.6, *slow(0.3, 1.0)])
def test_labels_agree_where_they_have_one_frequency(c):
    found = [agreeing(*annotated(np.full(40, c), seed=seed)) for seed in range(5)]
    assert np.mean(found) > 0.9


@pytest.mark.slow
def test_a_share_of_the_labels_agrees():
    for share, lowest, highest in ((1 / 3, 0.0, 0.5), (2 / 3, 0.5, 1.0)):
        c = np.where(np.arange(60) < 60 * share, 0.9, 0.2 + 0.01 * np.arange(60))
        assert lowest <= agreeing(*annotated(c, 4000)) <= highest
