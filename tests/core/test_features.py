import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_array_equal

from mpu_cli.core.features import Columns, Features
from tests.core.simulated import as_features

values = st.just(0) | st.integers(-8, 8)
matrices = st.tuples(st.integers(0, 8), st.integers(0, 6)).flatmap(
    lambda shape: hnp.arrays(np.float32, shape, elements=values)
)


def both_forms(X: np.ndarray) -> list[Features]:
    """The same features as sparse columns, as dense ones, and as some of each."""
    n, D = X.shape
    dense = Features(as_features(np.empty((n, 0))), X)
    sparse = Features(as_features(X), np.empty((n, 0), np.float32))
    return [dense, sparse, Features(as_features(X[:, : D // 2]), X[:, D // 2 :])]


def test_coherence():
    apart, alike = np.eye(100), np.ones((100, 7))
    for X, expected in ((apart, 1.0), (alike, 32.0), (alike[:5], 5.0), (1e30 * alike, 32.0), (0 * alike, 1.0)):
        for features in both_forms(X.astype(np.float32)):
            assert features.coherence == pytest.approx(expected)


@pytest.mark.parametrize("looked_up", [True, False], ids=["by a table", "by search"])
@given(X=matrices, other=matrices)
def test_columns_that_occur(looked_up, X, other):
    with pytest.MonkeyPatch.context() as patch:
        if not looked_up:
            patch.setattr("mpu_cli.core.features._MOST_LOOKED_UP", -1)
        columns = Columns.occurring(as_features(X))
        occurring = np.flatnonzero(X.any(axis=0))
        assert_array_equal(columns.indices, occurring)
        wide = np.hstack([other, np.zeros((len(other), X.shape[1]), np.float32)])
        assert_array_equal(columns.of(as_features(wide)).toarray(), wide[:, occurring])
        assert columns.count(as_features(wide)) == np.count_nonzero(wide[:, occurring])
