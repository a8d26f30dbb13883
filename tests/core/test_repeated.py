import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array

from mpu_cli.core.labels.problem import kin_of, share_repeated


def instances(rows) -> csr_array:
    return csr_array(np.asarray(rows, np.float32))


@pytest.fixture
def twice():
    """Return sixty instances, and each once more, shuffled; and which of them are the same."""
    rng = np.random.default_rng(0)
    order = rng.permutation(120) % 60
    return instances(rng.normal(size=(60, 4)))[order], order


def test_repeated_instances_are_found_whatever_the_order_of_their_features(twice):
    features, order = twice
    other_way_round = csr_array(features)
    other_way_round.indices[: other_way_round.indptr[1]] = other_way_round.indices[: other_way_round.indptr[1]][::-1]
    other_way_round.data[: other_way_round.indptr[1]] = other_way_round.data[: other_way_round.indptr[1]][::-1]
    for matrix in (features, other_way_round):
        kin = kin_of(matrix)
        assert_array_equal(order[kin], order)
        assert (kin <= np.arange(120)).all()
        assert share_repeated(kin) == 0.5


def test_values_and_places_count(twice):
    features, _ = twice
    scaled = csr_array(features)
    scaled.data[: scaled.indptr[1]] *= 2
    assert share_repeated(kin_of(scaled)) == pytest.approx(59 / 120)
