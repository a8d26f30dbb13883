"""Dask arrays of callers: predictions of them are dask arrays too, computed block by block where the blocks are."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils.validation import check_is_fitted

from mpu_cli.errors import DataError


def is_lazy(array: Any) -> bool:
    """Whether this is something that Dask computes."""
    return hasattr(array, "__dask_graph__")


def computed(array: Any) -> Any:
    """Return an array in memory."""
    return array.compute() if is_lazy(array) else array


def refuse_other_than_rows(name: str, array: Any) -> None:
    """Raise DataError unless this is a dask array whose blocks are whole rows."""
    if not is_lazy(array) or not hasattr(array, "chunks"):
        raise DataError(
            f"{name} is {type(array).__name__}, and a cluster learns from dask arrays or a list of files: take "
            "dask.array.from_array, or to_dask_array() of a data frame"
        )
    if array.ndim != 2 or np.isnan(array.shape[1]):
        raise DataError(f"{name} has shape {array.shape}: give a dask array of two dimensions, of known width")
    if array.numblocks[1] != 1:
        raise DataError(
            f"{name} has its columns in {array.numblocks[1]} chunks: give it whole rows, {name}.rechunk({{1: -1}})"
        )


def of_blocks(dtype: type, is_sparse: Callable[[Any], bool]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Have a method of an estimator, which predicts n x q numbers, take dask arrays too.

    Parameters
    ----------
    dtype : type
        Of its predictions.
    is_sparse : callable
        Whether an estimator gives them as a sparse matrix.
    """

    def decorate(method: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(method)
        def predict(estimator: Any, X: Any, *arguments: Any, **named: Any) -> Any:
            if not is_lazy(X):
                return method(estimator, X, *arguments, **named)
            check_is_fitted(estimator)
            refuse_other_than_rows("X", X)
            from dask import delayed

            q = len(estimator.classes_)
            return X.map_blocks(
                _predicted,
                method.__name__,
                delayed(estimator, traverse=False),
                arguments,
                named,
                dtype=dtype,
                chunks=(X.chunks[0], (q,)),
                meta=csr_array((0, q), dtype=dtype) if is_sparse(estimator) else np.empty((0, q), dtype),
            )

        return predict

    return decorate


def _predicted(block: Any, method: str, estimator: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
    if block.shape[0]:
        return getattr(estimator, method)(block, *arguments, **named)
    return getattr(estimator, method)(np.zeros((1, estimator.n_features_in_), np.float32), *arguments, **named)[:0]
