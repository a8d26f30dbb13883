"""Predictions of dask arrays."""

import dask.array as da
import numpy as np
import pytest
from scipy.sparse import csr_array, issparse
from sklearn.exceptions import NotFittedError

from mpu_cli import MPUClassifier
from mpu_cli.errors import DataError

X = np.eye(3)[np.arange(60) % 3]
Y = X.astype(int)
CUT = da.from_array(X, chunks=(25, 3))


@pytest.fixture(scope="module", params=[np.asarray, csr_array])
def model(request):
    return MPUClassifier(levels=1, c=0.9, classes=["a", "b", "c"]).fit(X, request.param(Y))


@pytest.mark.parametrize("lazy", [CUT, CUT.map_blocks(csr_array)])
@pytest.mark.parametrize(("method", "given"), [("predict", {}), ("predict_proba", {}), ("predict_top", {"k": 2})])
def test_they_are_lazy_and_the_same(model, method, given, lazy):
    here, there = getattr(model, method)(X, **given), getattr(model, method)(lazy, **given)
    assert isinstance(there, da.Array)
    assert (there.shape, there.dtype, there.chunks[0]) == (here.shape, here.dtype, lazy.chunks[0])
    found = there.compute()
    assert issparse(found) == issparse(there._meta) == issparse(here)
    np.testing.assert_array_equal(*(one.toarray() if issparse(one) else one for one in (found, here)))


def test_what_is_no_array_is_computed(model):
    assert model.predict_labels(CUT) == model.predict_labels(X)
    assert model.score(CUT, da.from_array(Y)) == model.score(X, Y)


def test_blocks_without_rows_are_predicted(model):
    assert model.predict_proba(CUT[CUT[:, 0] > 2]).compute().shape == (0, 3)
    assert model.predict_proba(CUT[CUT[:, 0] > 0.5]).compute().shape == (20, 3)


def test_columns_in_chunks_and_models_that_are_not_fitted_are_refused(model):
    with pytest.raises(DataError, match="X has its columns in 3 chunks"):
        model.predict(CUT.rechunk((25, 1)))
    with pytest.raises(NotFittedError):
        MPUClassifier().predict(CUT)
