"""Equality of datasets, bit for bit."""

import numpy as np

from mpu_cli.svmlight.dataset import Dataset


def assert_same(first: Dataset, second: Dataset) -> None:
    for ours, theirs in ((first.labels, second.labels), (first.features, second.features)):
        assert ours.shape == theirs.shape
        assert np.array_equal(ours.indptr, theirs.indptr)
        assert np.array_equal(ours.indices, theirs.indices)
        assert ours.data.dtype == theirs.data.dtype
        assert ours.data.tobytes() == theirs.data.tobytes()
