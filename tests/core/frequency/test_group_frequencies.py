"""Label frequencies of groups of instances: everywhere in place of that of the label."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from mpu_cli.core.frequency.estimators import estimate
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.frequency.single_frequencies import FEWEST_OF_GROUP, estimate_groups, of_all_groups
from mpu_cli.core.labels.problem import InstanceGroups, Problem
from mpu_cli.core.labels.verified import VerifiedLabels
from mpu_cli.core.options import Options
from mpu_cli.core.stacking import train
from mpu_cli.errors import DataError
from mpu_cli.people.posteriors import missing_labels
from mpu_cli.runtime.run import Run
from tests.core.frequency.test_estimators import beside, separable
from tests.core.simulated import as_features, as_labels, linear_problem
from tests.golden import refused

C = np.array([0.8, 0.2])


def grouped(n):
    """A problem of which half of the instances was annotated well, and half badly."""
    X, Y = linear_problem(n, 20, 6, slope=5.0)
    rng = np.random.default_rng(0)
    groups = InstanceGroups(rng.integers(0, 2, n), ("well", "badly"))
    S = Y & (rng.random(Y.shape) < C[groups.of_instances][:, None])
    return X, Y, S, groups


def test_c_of_each_group_is_estimated():
    good, bad = separable(2000, 4, 0.8), separable(2000, 4, 0.2, seed=1)
    P, S = np.vstack([good[0], bad[0]]), as_labels(np.vstack([good[1].toarray(), bad[1].toarray()]))
    groups = InstanceGroups(np.repeat([1, 0], 2000), ("bad", "good"))
    found = estimate_groups(P, S, groups, estimate(P, S))
    assert_allclose(found.c, [0.2, 0.8], atol=0.03)
    assert ((found.intervals[:, 0] <= found.c) & (found.c <= found.intervals[:, 1])).all()
    assert not found.pooled.any()
    annotations = groups.sums(np.diff(S.indptr))
    combined = of_all_groups(found, estimate(P, S), annotations)
    assert combined.interval[0] <= combined.c <= combined.interval[1]
    assert combined.c == pytest.approx(S.nnz / (annotations / found.c).sum())


def test_small_groups_are_estimated_together():
    P, S = separable(3000, 4, 0.5)
    groups = InstanceGroups(np.where(np.arange(3000) < 2700, 0, 1 + np.arange(3000) % 20), tuple(map(str, range(21))))
    found = estimate_groups(P, S, groups, of_all := estimate(P, S))
    assert (groups.sums(np.diff(S.indptr))[1:] < FEWEST_OF_GROUP).all()
    assert_array_equal(found.pooled, np.arange(21) > 0)
    assert len(set(found.c[1:].tolist())) == 1
    assert found.c[0] == pytest.approx(of_all.c, abs=0.05)


def test_counts_are_those_of_each_group_alone():
    rng = np.random.default_rng(0)
    _, S = beside(separable(300, 3, 0.5), separable(300, 2, 0.3, seed=1))
    verified = VerifiedLabels.of((300, 5), true=([0, 1], [0, 4]), false=([2], [1]), ignored=([3], [3]), complete=[5, 9])
    of_instances = C[rng.integers(0, 2, 300)]
    whole = LabelFrequency.of(0.5, (300, 5), verified, of_instances)
    alone = [
        LabelFrequency.of(c, (int((of_instances == c).sum()), 5), verified.rows(np.flatnonzero(of_instances == c)))
        for c in C
    ]
    parts = [csr_array(S[np.flatnonzero(of_instances == c)]) for c in C]
    expected = sum(one.true_labels(part) for one, part in zip(alone, parts, strict=True))
    assert_allclose(whole.true_labels(S), expected)
    missing = [missing_labels(part, one)[1].expected for one, part in zip(alone, parts, strict=True)]
    assert missing_labels(S, whole)[1].expected == pytest.approx(sum(missing))
    counts = whole.count(S)
    assert_allclose(counts.shares(whole.rates) * counts.cells, expected)
    for one, c in zip(alone, C, strict=True):
        rows = np.flatnonzero(of_instances == c)
        assert_allclose(whole.rows(rows).of_cells(slice(None)), one.of_cells(slice(None)))


@pytest.mark.slow
def test_both_kernels_take_them():
    pytest.importorskip("numba")
    X, _, S, groups = grouped(600)
    problem, options = (
        Problem(as_features(X), as_labels(S), groups=groups),
        Options(levels=1, cost=10.0, eta0=1.0, epochs=2),
    )
    one, other = (train(problem, options, Run(kernel=name))[0].levels[0] for name in ("numpy", "numba"))
    assert_allclose(one.weights, other.weights, atol=1e-4)


@pytest.mark.parametrize("known", [{"c": 0.5}, {"sampled": np.arange(5)}])
def test_what_sets_c_otherwise_is_refused(known):
    X, _, S, groups = grouped(200)
    verified = VerifiedLabels.of(S.shape, complete=known.get("sampled", ()))
    given = Problem(as_features(X), as_labels(S), groups=groups, verified=verified, sampled=known.get("sampled"))
    with refused(DataError):
        train(given, Options(levels=1, c=known.get("c")))
