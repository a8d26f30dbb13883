"""Dask, from Python: learning on a cluster, and predictions of dask arrays.

The instances are blocks of dask arrays, which stay on the workers, or in files, which are read there. Predictions of
dask arrays are dask arrays too, computed block by block where the blocks are.
"""

import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from mpu_cli.api import arrays, learning
from mpu_cli.bundle import TrainedModel, provenance
from mpu_cli.cluster.on_cluster import OnCluster, connection
from mpu_cli.cluster.reading import absolute
from mpu_cli.core.options import Options
from mpu_cli.errors import DataError, MpuWarning
from mpu_cli.inputs.cluster_data import ClusterData
from mpu_cli.inputs.read_sources import set_on_cluster
from mpu_cli.inputs.training_data import Sources
from mpu_cli.runtime.files import refuse_repeated
from mpu_cli.svmlight.dataset import Dataset
from mpu_cli.svmlight.reader import Part
from mpu_cli.svmlight.streams import Source, as_one

if TYPE_CHECKING:
    from mpu_cli.cluster.dask_executor import DaskExecutor


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


def predicted(estimator: Any, method: str, X: Any, dtype: type, is_sparse: bool = False, **arguments: Any) -> Any:
    """Return what a method of an estimator predicts for a dask array, n x D, as a dask array of n x q numbers."""
    check_is_fitted(estimator)
    refuse_other_than_rows("X", X)
    from dask import delayed

    q = len(estimator.classes_)
    return X.map_blocks(
        _predicted,
        method,
        delayed(estimator, traverse=False),
        arguments,
        dtype=dtype,
        chunks=(X.chunks[0], (q,)),
        meta=csr_array((0, q), dtype=dtype) if is_sparse else np.empty((0, q), dtype),
    )


def _predicted(block: Any, method: str, estimator: Any, arguments: dict[str, Any]) -> Any:
    if block.shape[0]:
        return getattr(estimator, method)(block, **arguments)
    return getattr(estimator, method)(np.zeros((1, estimator.n_features_in_), np.float32), **arguments)[:0]


@dataclass(frozen=True)
class Learned:
    """A model, with the columns and names of its labels in the arrays of the caller."""

    model: TrainedModel
    columns: np.ndarray  # int, shape (q,): the columns of its labels among all
    classes: np.ndarray
    sparse: bool  # whether label sets are to be predicted as a sparse matrix


def is_meant(X: Any, y: Any, client: Any) -> bool:
    """Whether to learn on a cluster: there is a client, X or y is an array of Dask, or X is a list of files."""
    return client is not None or is_lazy(X) or is_lazy(y) or (y is None and _are_files(X))


def learn(
    chosen: Mapping[str, Any], X: Any, y: Any, classes: Any, client: Any, arguments: Mapping[str, Any]
) -> Learned:
    """Learn a model of all labels on a cluster.

    X, y, classes and client are as for `MPUClassifier` and its `fit`, whose other arguments, such as `reviewed`, come
    by name, and only with dask arrays.

    Raises DataError (a cluster cannot learn from these arguments), MpuError (as for `commands.train.train`).
    """
    arguments = {name: value for name, value in arguments.items() if value is not None}
    if chosen["method"] != "mpu":
        raise DataError(f"a cluster learns by the method mpu, not by {chosen['method']}")
    if "groups" in arguments:
        raise DataError("groups: a cluster estimates one label frequency for all instances; learn without a client")
    if _are_files(X):
        if y is not None or classes is not None:
            raise DataError("X names files, which have the labels too: give neither y nor classes")
        if arguments:
            raise DataError(
                f"X names files, and {min(arguments)} is an array of their labels: give dask arrays X and y, or use "
                "`mpu train --cluster`, which reads reviews and features of labels from files"
            )
        refuse_repeated("X", list(map(os.fspath, X)))
    else:
        _refuse_uneven(X, y)
    with connection().borrowed(client, OnCluster.timeout) as executor:
        if _are_files(X):
            return _of_files(executor, chosen, as_one([absolute(os.fspath(path)) for path in X]))
        return _of_arrays(executor, chosen, X, y, classes, arguments)


def _of_files(executor: "DaskExecutor", chosen: Mapping[str, Any], files: Source) -> Learned:
    data = set_on_cluster(executor, Sources(files), learning.run_of(chosen), chosen["shards"])
    columns = np.arange(len(data.ids))
    model = _learned(data, chosen, columns, len(columns), provenance.of_files(data.described(), {}))
    return Learned(model, columns, model.shown_labels(), True)


def _of_arrays(
    executor: "DaskExecutor", chosen: Mapping[str, Any], X: Any, y: Any, classes: Any, arguments: Mapping[str, Any]
) -> Learned:
    from mpu_cli.cluster.distributed_problem import Collection

    width, q = X.shape[1], y.shape[1]
    names = arrays.class_names(classes, q)
    own_numbers = arrays.label_numbers(names)
    numbers = np.arange(1, q + 1) if own_numbers is None else own_numbers
    here = {name: executor.computed(value) if is_lazy(value) else value for name, value in arguments.items()}
    if "label_features" in here:
        here["label_features"] = arrays.label_features(here["label_features"], q, width)
    of_x, of_y = executor.blocks(X, y)
    parts = [Part(f"block {number}") for number in range(len(of_x))]
    instances = [
        executor.submit(as_instances, *blocks, part.path, width, numbers)
        for *blocks, part in zip(of_x, of_y, parts, strict=True)
    ]
    is_sparse = executor.submit(issparse, of_y[0])
    del of_x, of_y  # the workers need not keep them beside the instances
    collection = Collection.of(executor, parts, instances)
    checked = arrays.Checked.of((len(collection), q), **here)
    columns = checked.columns(np.isin(numbers, collection.ids), numbers)
    information = vars(checked.label_information(columns))
    data = ClusterData(collection=collection, shards=chosen["shards"], ids=numbers[columns], **information)
    return Learned(_learned(data, chosen, columns, q), columns, names, executor.gather([is_sparse])[0])


def as_instances(x: Any, y: Any, name: str, width: int, numbers: np.ndarray) -> Dataset:
    """Return a block of the features and one of the annotated labels as instances, without a copy where that can be.

    They have the shapes (m, width) and (m, q); DataError, with the name of the block, where they have others, or values
    that cannot be used. `numbers` are those of the labels.
    """
    try:
        arrays.refuse_broken(x, "X")
        features = check_array(x, accept_sparse="csr", dtype=np.float32, input_name="X", ensure_min_samples=0)
        labels = arrays.indicator(y) if y.shape[0] else csr_array(y.shape, dtype=bool)
    except ValueError as error:
        raise DataError(f"{name}: {error}") from None
    n = labels.shape[0]
    if features.shape != (n, width) or labels.shape[1] != len(numbers):
        shapes = f"X has shape {features.shape}, and y has {labels.shape}"
        raise DataError(f"{name}: {shapes}, but X has {width} columns in all, and y has {len(numbers)}")
    columns = numbers[labels.indices].astype(np.int32)
    by_number = csr_array((labels.data, columns, labels.indptr), shape=(n, int(numbers.max(initial=0)) + 1))
    by_number.sort_indices()
    return Dataset(by_number, arrays.as_csr(features))


def _learned(
    data: ClusterData, chosen: Mapping[str, Any], columns: np.ndarray, width: int, files: dict[str, Any] | None = None
) -> TrainedModel:
    options, run = Options(**learning.values_for(chosen, columns, width)), learning.run_of(chosen)
    fitted = data.fit("mpu", options, run)
    for warning in fitted.warnings:
        warnings.warn(warning, MpuWarning, stacklevel=5)
    return data.assembled(fitted, "mpu", options, run, files)


def _are_files(X: Any) -> bool:
    return isinstance(X, list | tuple) and bool(X) and all(isinstance(path, str | os.PathLike) for path in X)


def _refuse_uneven(X: Any, y: Any) -> None:
    """Raise DataError unless these are dask arrays with the same rows in each of their blocks."""
    for name, array in (("X", X), ("y", y)):
        if array is None:
            raise DataError(f"{name} is missing: dask arrays X and y, or a list of files as X alone, are learned from")
        refuse_other_than_rows(name, array)
    rows, others = X.chunks[0], y.chunks[0]
    if len(rows) != len(others) or any(a != b for a, b in zip(rows, others, strict=True) if a == a and b == b):
        raise DataError(
            f"X has {_described(rows)}, and y has {_described(others)}: give them the same rows, "
            "y.rechunk((X.chunks[0], -1))"
        )


def _described(rows: tuple[float, ...]) -> str:
    sizes = ", ".join(map(str, rows[:5])) + ", ..." * (len(rows) > 5)
    return f"{len(rows):,} blocks of {sizes} rows"
