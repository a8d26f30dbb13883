"""Labels that are learned from some of the instances."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from mpu_cli.core import many_labels
from mpu_cli.core.features import Features
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.labels.problem import Problem
from mpu_cli.core.labels.side_information import NegativeSample, Prior
from mpu_cli.core.labels.verified import VerifiedLabels
from mpu_cli.core.many_labels import sample_negatives
from mpu_cli.core.options import Options
from mpu_cli.core.sgd import LearningTask, Settings
from mpu_cli.core.stacking import train
from mpu_cli.runtime.run import Run
from tests.core.simulated import trained
from tests.core.steps import Steps
from tests.core.test_many_labels import Q, micro_f1, problem

N = 3000
SETTINGS = Settings(cost=100.0, step=2.0, epochs=2)
QUICK = {"c": 0.7, "cost": 100.0, "eta0": 2.0, "epochs": 2, "folds": 2, "levels": 1}


@pytest.fixture(scope="module")
def drawn():
    matrix, annotated, _ = problem(n=N)
    return Features.of(matrix), annotated, LabelFrequency.of(0.7, annotated.shape)


def of_all_instances(n: int) -> NegativeSample:
    """Put labels into groups at random, each learned from all instances."""
    group_of = np.random.default_rng(3).permutation(np.arange(Q) // 50).astype(np.int32)
    return NegativeSample(group_of, csr_array(np.ones((group_of.max() + 1, n), bool)))


def test_weights_are_the_same_where_all_instances_are_on_the_list(drawn):
    features, labels, frequency = drawn
    rows = np.arange(0, N, 3)
    expected, found = (
        trained(features, labels, rows, frequency, SETTINGS, negatives=negatives, prune=0.05)
        for negatives in (None, of_all_instances(N))
    )
    np.testing.assert_array_equal(found.bias, expected.bias)
    np.testing.assert_allclose(found.weights.toarray(), expected.weights.toarray(), atol=1e-6)


def test_groups_learn_from_what_is_annotated_and_what_is_known(drawn):
    features, labels, _ = drawn
    rng = np.random.default_rng(4)
    false = rng.integers(0, N, 200), rng.integers(0, Q, 200)
    keys = np.unique(false[0] * Q + false[1])
    verified = VerifiedLabels.of(labels.shape, false=(keys // Q, keys % Q))
    frequency = LabelFrequency.of(0.7, labels.shape, verified)
    before = labels.toarray()
    negatives = sample_negatives(LearningTask(features, labels, frequency, SETTINGS, prune=0.1))
    np.testing.assert_array_equal(labels.toarray(), before)
    learned = negatives.instances.toarray()[negatives.group_of].T  # n x q
    assert learned[frequency.positives(labels).toarray()].all()
    assert learned[keys // Q, keys % Q].all()
    sizes = np.bincount(negatives.group_of)
    assert sizes[0] == 64
    assert sizes.max() == 64
    most_annotated = np.argsort(-np.bincount(labels.indices, minlength=Q))[:20]
    assert (negatives.group_of[most_annotated] == 0).all()
    assert learned[:, most_annotated].all()
    assert 0.2 < learned.mean() < 0.9
    np.testing.assert_array_equal(np.sort(np.concatenate(negatives.groups())), np.arange(Q))


def test_predicted_instances_widen_it():
    negatives = NegativeSample(np.int32([0, 1, 1]), csr_array(np.array([[True, False, False], [False, True, False]])))
    predictions = csr_array(np.float32([[0, 0, 0.4], [0.2, 0, 0.001], [0, 0.001, 0]]))
    assert negatives.widened(predictions).instances.toarray().tolist() == [[True, True, False], [True, True, False]]


@pytest.mark.slow
def test_the_kernels_find_the_same_list(drawn):
    pytest.importorskip("numba")
    lists = [
        sample_negatives(LearningTask(*drawn, SETTINGS, Run(kernel=name), prune=0.1)) for name in ("numpy", "numba")
    ]
    np.testing.assert_array_equal(lists[0].group_of, lists[1].group_of)
    learned = [one.instances.toarray() for one in lists]
    assert (learned[0] != learned[1]).mean() < 1e-3  # where two groups are as near, they may differ


@pytest.mark.slow
def test_it_is_about_as_good_as_all_instances(monkeypatch):
    matrix, annotated, _ = problem(n=2000)
    test, _, truth = problem(seed=1, n=1000)
    f1 = []
    for fewest in (2001, 100):
        monkeypatch.setattr(many_labels, "_FEWEST_INSTANCES", fewest)
        model, _ = train(Problem(matrix, annotated), Options(**QUICK), Run(step=(steps := Steps())))
        assert ("finding instances for each label" in steps.ticks) == (fewest == 100)
        f1.append(micro_f1(csr_array(model.probabilities(test) >= model.thresholds), truth))
    assert f1[0] > 0.5
    assert f1[1] > f1[0] - 0.02


def test_labels_that_are_never_annotated_learn_from_instances_with_their_features(drawn):
    features, labels, frequency = drawn
    found = labels.tocsc()
    never = np.flatnonzero(np.diff(found.indptr) > 2)[-40:]  # rare ones, but known by instances
    hidden = csr_array(labels.multiply(~np.isin(np.arange(Q), never)[None]))
    hidden.eliminate_zeros()
    of_labels = csr_array(found.T.astype(np.float32) @ features.as_sparse())
    theirs = labels.toarray()[:, never]
    shares = []
    for prior in (None, Prior.of(features, of_labels)):
        negatives = sample_negatives(LearningTask(features, hidden, frequency, SETTINGS, prior=prior, prune=0.1))
        shares.append(negatives.instances.toarray()[negatives.group_of].T[:, never][theirs].mean())
    assert shares[1] > 0.99
    assert shares[1] > shares[0]
