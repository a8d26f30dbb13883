"""Sizes of the results of units, in bytes, for Dask.

Dask runs a unit where most of its arguments are, counts what it moves, and writes to disk what exceeds the memory of a
worker. It assumes 56 bytes for objects of unknown size.
"""

from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

import numpy as np
from dask.sizeof import sizeof
from scipy.sparse import csc_array, csr_array

from mpu_cli.core.data.predictions import HeldOut
from mpu_cli.core.data.problem import LabelInformation, Rows
from mpu_cli.core.model.bins import BinnedCells
from mpu_cli.core.model.linear import LinearModel
from mpu_cli.core.model.stacking import StackedModel
from mpu_cli.core.select.warm_start import WarmStart
from mpu_cli.core.side.negative_sampling import Groups
from mpu_cli.core.train.group_units import Picked
from mpu_cli.core.train.parts import PartRows
from mpu_cli.svmlight.dataset import Dataset


def size_of(value: Any) -> int:
    """Return the size of the arrays of a value, in bytes."""
    match value:
        case np.ndarray():
            return int(value.nbytes)
        case csr_array() | csc_array():
            return value.data.nbytes + value.indices.nbytes + value.indptr.nbytes
        case list() | tuple():
            return sum(map(size_of, value))
        case _ if is_dataclass(value):
            return sum(size_of(getattr(value, field.name)) for field in fields(value))
    return 0


@cache
def register_sizes() -> None:
    """Register `size_of` with Dask in this process."""
    of_arrays = (csc_array, csr_array, BinnedCells, Dataset, Groups, HeldOut, LinearModel, PartRows, Picked, Rows)
    for kind in (*of_arrays, LabelInformation, StackedModel, WarmStart):
        sizeof.register(kind, size_of)
