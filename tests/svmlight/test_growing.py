import numpy as np
import pytest
from scipy.sparse import csr_array, random_array, vstack

from mpu_cli.svmlight.dataset import GrowingCsr


@pytest.mark.parametrize("expected", [0, 1, 10_000])
@pytest.mark.parametrize("dtype", [bool, np.float32])
def test_rows_are_put_under_one_another(expected, dtype):
    rng = np.random.default_rng(0)
    parts = [random_array((n, 30), density=0.3, rng=rng).tocsr().astype(dtype) for n in (3, 1, 50, 7)]
    growing = GrowingCsr(dtype, expected)
    for part in parts:
        growing.append(part)
    grown, stacked = growing.finish(), vstack(parts, format="csr")
    assert grown.shape == stacked.shape
    assert grown.dtype == dtype
    assert grown.indices.dtype == grown.indptr.dtype == np.int32
    for name in ("data", "indices", "indptr"):
        assert np.array_equal(getattr(grown, name), getattr(stacked, name))


def test_the_width_is_that_of_the_widest_rows():
    growing = GrowingCsr(np.float32)
    for width in (2, 5, 0):
        growing.append(csr_array((1, width), dtype=np.float32))
    assert growing.finish().shape == (3, 5)
