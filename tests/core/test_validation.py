import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from mpu_cli.core.features import Features
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.kernels import kernel
from mpu_cli.core.sgd import LearningTask, Settings
from mpu_cli.core.validation import deal, out_of_fold
from mpu_cli.runtime.run import Run
from tests.core.simulated import as_features, as_labels, linear_problem, trained

QUICK = Settings(cost=3.0, epochs=2)


@given(st.integers(1, 60), st.integers(1, 12), st.integers(0, 2**32))
def test_folds_are_a_partition_into_equal_parts(n, m, seed):
    folds = deal(n, m, seed)
    assert len(folds) == min(n, m)
    assert sorted(np.concatenate(folds)) == list(range(n))
    assert max(map(len, folds)) - min(map(len, folds)) <= 1
    assert all((np.diff(fold) > 0).all() for fold in folds)
    for fold, again in zip(folds, deal(n, m, seed), strict=True):
        assert_array_equal(fold, again)


def problem(q: int = 3):
    X, Y = linear_problem(61, 4, q)
    return Features.of(as_features(X)), as_labels(Y), LabelFrequency(np.linspace(0.4, 1, q))


@pytest.mark.parametrize("jobs", [1, 2])
def test_predicts_each_instance_by_a_model_of_the_others(jobs):
    q = kernel(Run()).BLOCK_SIZE + 3  # two blocks
    features, labels, c = problem(q)
    rows = deal(61, 4, 0)
    ticks = []
    task = LearningTask(features, labels, c, QUICK, Run(jobs=jobs, seed=5))
    predicted = out_of_fold(task, rows, lambda: ticks.append(1))
    assert predicted.dtype == np.float32
    for held_out in rows:
        rest = np.array([i for i in range(61) if i not in held_out])
        model = trained(features[rest], labels[rest], np.arange(len(rest)), c, QUICK, run=Run(seed=5))
        assert_array_equal(predicted[held_out], model.probabilities(features[held_out]))
    assert len(ticks) == 4


def test_few_sets_make_folds_of_about_one_size():
    kin = np.repeat(np.arange(6), [50, 40, 30, 20, 10, 10])
    folds = deal(160, 3, 0, kin)
    assert sorted(map(len, folds)) == [50, 50, 60]
    assert all(len(np.intersect1d(kin[rows], kin[np.setdiff1d(np.arange(160), rows)])) == 0 for rows in folds)
    one_each = deal(160, 6, 0, kin)
    assert sorted(np.unique(kin[rows]).tolist() for rows in one_each) == [[k] for k in range(6)]
