import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array

from mpu_cli.errors import MpuError
from mpu_cli.methods.well.transductive import TransductiveModel, fingerprints
from tests.core.simulated import as_features

X = [[1, 0, 2], [0, 0, 0], [0, 3, 0], [1, 2, 0]]
VALUES = np.arange(8, dtype=np.float32).reshape(4, 2) / 8
HALF = np.full(2, 0.5, np.float32)


def test_values_in_any_order_and_again():
    model = TransductiveModel.of(as_features(X), VALUES, HALF)
    order = [2, 0, 3, 0, 1]
    assert_array_equal(model.probabilities(as_features(X)[order]), VALUES[order])
    assert model.n_features == 3
    assert model.probabilities(as_features(np.empty((0, 3)))).shape == (0, 2)


def test_width_and_stored_zeros_make_no_difference():
    model = TransductiveModel.of(as_features(X), VALUES, HALF)
    wide = np.hstack([X, np.zeros((4, 5))])
    assert_array_equal(model.probabilities(as_features(wide)), VALUES)
    stored = csr_array((np.array([1, -0.0, 2], np.float32), [0, 1, 2], [0, 3]), shape=(1, 3))
    assert stored.nnz == 3
    assert_array_equal(model.probabilities(stored), VALUES[:1])


@pytest.mark.parametrize("other", [[1, 0, 2.0000002], [0, 1, 2], [1, 0, 0], [2, 0, 1]])
def test_other_instances_are_refused(other):
    model = TransductiveModel.of(as_features(X), VALUES, HALF)
    with pytest.raises(MpuError, match="none of the 4 that the model knows: its method is transductive"):
        model.probabilities(as_features([X[0], other]))


def test_equal_instances_are_one():
    model = TransductiveModel.of(as_features(X + X), np.vstack([VALUES, VALUES / 2]), HALF)
    assert len(model.values) == len(model.fingerprints) == 4
    assert_array_equal(model.probabilities(as_features(X)), VALUES)


def test_fingerprints_ascend_and_differ():
    many = as_features(np.random.default_rng(0).integers(0, 3, (300, 20)))
    prints = TransductiveModel.of(many, np.zeros((300, 1), np.float32), HALF[:1]).fingerprints
    assert prints.dtype == np.uint64
    assert prints.tolist() == sorted(prints.tolist())
    assert len({tuple(row) for row in fingerprints(many).tolist()}) == len(np.unique(many.toarray(), axis=0))
