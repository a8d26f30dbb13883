"""Convert a model's predictor to numbers and arrays, and restore it from files that may be damaged.

The manifest contains the numbers; the arrays are in one file for each level, and one for kernel features. The numbers
determine the layout of these files.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.calibration import AnyCalibration, Calibration, StratifiedCalibration
from mpu_cli.core.features import Columns, RbfFeatures
from mpu_cli.core.linear_model import LinearModel
from mpu_cli.core.predictions import Top
from mpu_cli.core.stacking import StackedModel
from mpu_cli.runtime.untrusted import expect
from mpu_cli.svmlight.grammar import MAX_ID

# The dtype and shape of each array in a file.
Layout = dict[str, tuple[type, tuple[int, ...]]]
Parts = dict[str, dict[str, np.ndarray]]

# Arrays of a calibration, and the largest absolute value in them.
_LOG_ODDS = ("predicted", "actual")
_LARGEST_LOG_ODDS = 1e4
_KERNEL = "kernel"
_LEAST_DEVIATION, _LARGEST_FACTOR = 1e-60, 1e30
_OF_KERNEL = ("mean", "deviation", "landmarks", "normalization")


def whole(number: Any, least: int = 0) -> int:
    """Return a JSON value if it is a whole number of at least `least`; otherwise ValueError."""
    expect(type(number) is int and number >= least, f"a whole number from {least} is missing")
    return number


def number_list(values: Any, name: str, dtype: type) -> np.ndarray:
    """Return a JSON list of numbers as an array; with an integer dtype, they must be whole numbers.

    Types are checked first, since NumPy would pad every text in a list to the length of the longest. ValueError or
    OverflowError if types or sizes are wrong.
    """
    types = {int} if np.issubdtype(dtype, np.integer) else {int, float}
    expect(type(values) is list and set(map(type, values)) <= types, f"{name} are not a list of numbers")
    return np.array(values, dtype)


def _real(number: Any) -> float:
    expect(type(number) in (int, float), "a number is missing")
    return float(number)


def numbers_of(model: StackedModel) -> dict[str, Any]:
    """Return a model's JSON values, which are not in its arrays."""
    top, kernel = model.top, model.rbf
    calibrations = model.calibrations or (None,) * len(model.levels)
    return {
        "levels": len(model.levels),
        "scale": model.scale,
        "calibrations": list(map(_calibration_numbers, calibrations)),
        "top": top and {"most": top.most, "least": top.least},
        "compact": model.columns is not None,
        "entries": [level.weights.nnz if isinstance(level.weights, csr_array) else None for level in model.levels],
        "kernel": kernel and {"gamma": kernel.gamma, "landmarks": len(kernel)},
    }


def _calibration_numbers(calibration: AnyCalibration | None) -> dict[str, Any] | list[Any] | None:
    if isinstance(calibration, StratifiedCalibration):
        return [_calibration_numbers(of_stratum) for of_stratum in calibration.maps]
    return None if calibration is None else {name: getattr(calibration, name).tolist() for name in _LOG_ODDS}


def parts_of(model: StackedModel) -> Parts:
    """Return the arrays of a model, by part and name."""
    parts = {f"level{i}": _weights(level.weights) | {"bias": level.bias} for i, level in enumerate(model.levels)}
    if isinstance(model.calibration, StratifiedCalibration):
        parts["level0"]["strata"] = model.calibration.strata
    if model.rbf is not None:
        parts[_KERNEL] = {name: getattr(model.rbf, name) for name in _OF_KERNEL}
    return parts


def _weights(weights: np.ndarray | csr_array) -> dict[str, np.ndarray]:
    if isinstance(weights, np.ndarray):
        return {"weights": weights}
    indices, indptr = weights.indices.astype(np.int32), weights.indptr.astype(np.int64)
    return {"data": weights.data, "indices": indices, "indptr": indptr}


def layouts(numbers: dict[str, Any], n_known: int, D: int, q: int) -> Iterator[tuple[str, Layout]]:
    """Yield the name and layout of each part of a model of q labels; `n_known` of D features occurred in training."""
    n_levels, entries, kernel = whole(numbers["levels"], 1), numbers["entries"], numbers["kernel"]
    expect(type(entries) is list and len(entries) == n_levels, "entries are not a list with one item for each level")
    expect(type(numbers["compact"]) is bool, "compact is not true or false")
    m = 0 if kernel is None else whole(kernel["landmarks"], 1)
    width = m or (n_known if numbers["compact"] else D)
    for i in range(n_levels):
        layout: Layout = {"bias": (np.float32, (q,))}
        if i == 0 and _in_strata(numbers["calibrations"]):
            layout["strata"] = np.int8, (q,)
        rows = width + i * q
        if entries[i] is None:
            layout["weights"] = np.float32, (rows, q)
        else:
            stored = (whole(entries[i]),)
            layout |= {"data": (np.float32, stored), "indices": (np.int32, stored), "indptr": (np.int64, (rows + 1,))}
        yield f"level{i}", layout
    if m:
        shapes = (np.float64, (D,)), (np.float64, (D,)), (np.float32, (m, D)), (np.float32, (m, m))
        yield _KERNEL, dict(zip(_OF_KERNEL, shapes, strict=True))


def predictor(numbers: dict[str, Any], parts: Parts, occurring: Columns, thresholds: np.ndarray) -> StackedModel:
    """Restore the predictor; ValueError if the numbers and arrays are not valid."""
    scale = _real(numbers["scale"])
    expect(0 <= scale <= float(np.finfo(np.float32).max), "scale out of range")
    kernel = None if numbers["kernel"] is None else _kernel(_real(numbers["kernel"]["gamma"]), parts.pop(_KERNEL))
    expect(kernel is None or not numbers["compact"], "a kernel has all of its features")
    levels = tuple(
        LinearModel(part["weights"] if "weights" in part else _sparse(part, len(thresholds)), part["bias"])
        for part in parts.values()
    )
    listed, top = numbers["calibrations"], _top(numbers["top"])
    expect(type(listed) is list and len(listed) == len(levels), "a level has no calibration")
    calibrations: list[AnyCalibration | None] = [_calibration(values) for values in listed[: len(levels) - 1]]
    if _in_strata(listed):
        strata, n_strata = parts["level0"]["strata"], len(listed[-1])
        maps = tuple(of for of in map(_calibration, listed[-1]) if of is not None)
        expect(len(maps) == n_strata and bool(np.isin(strata, np.arange(n_strata)).all()), "strata out of range")
        calibrations.append(StratifiedCalibration(maps, strata))
    else:
        calibrations.append(_calibration(listed[-1]))
    columns = occurring if numbers["compact"] else None
    return StackedModel(levels, scale, thresholds, tuple(calibrations), top, columns, kernel)


def _kernel(gamma: float, arrays: dict[str, np.ndarray]) -> RbfFeatures:
    # Features are float32, so training never yields values outside these ranges. Within them, nothing overflows.
    expect(0 < gamma <= float(np.finfo(np.float32).max), "gamma out of range")
    expect(bool(np.all(np.abs(arrays["mean"]) <= np.finfo(np.float32).max)), "means out of range")
    expect(bool(np.all(arrays["deviation"] >= _LEAST_DEVIATION)), "deviations out of range")
    expect(bool(np.all(np.abs(arrays["normalization"]) <= _LARGEST_FACTOR)), "factors of the kernel out of range")
    return RbfFeatures(gamma=gamma, **arrays)


def _sparse(arrays: dict[str, np.ndarray], n_columns: int) -> csr_array:
    """Return a canonical CSR matrix; ValueError if the arrays are not valid."""
    data, indices, indptr = (arrays[name] for name in ("data", "indices", "indptr"))
    # Checked before the cast to 32 bits, which would wrap large indices back into range.
    expect(bool(indptr.min(initial=0) == 0 and indptr.max(initial=0) == len(data)), "entries of no row")
    if len(data) < 2**31:
        indptr = indptr.astype(np.int32)  # otherwise SciPy would copy the indices as 64-bit numbers
    matrix = csr_array((data, indices, indptr), shape=(len(indptr) - 1, n_columns))
    matrix.check_format(full_check=True)
    expect(matrix.has_canonical_format, "entries of a row out of order")
    return matrix


def _top(values: dict[str, Any] | None) -> Top | None:
    if values is None:
        return None
    most, least = whole(values["most"], 1), _real(values["least"])
    expect(most <= MAX_ID + 1 and 0 < least < 1, "top out of range")
    return Top(most, least)


def _in_strata(calibrations: Any) -> bool:
    """Whether the last of these JSON values is a list, with the calibration of each stratum."""
    return type(calibrations) is list and bool(calibrations) and type(calibrations[-1]) is list


def _calibration(values: dict[str, Any] | None) -> Calibration | None:
    if values is None:
        return None
    predicted, actual = (number_list(values[name], name, np.float64) for name in _LOG_ODDS)
    expect(0 < len(predicted) == len(actual), "lists of unequal length")
    for log_odds in (predicted, actual):
        expect(bool(np.all(np.abs(log_odds) <= _LARGEST_LOG_ODDS)), "calibration out of range")
        expect(bool(np.all(np.diff(log_odds) >= 0)), "calibration out of order")
    return Calibration(predicted, actual)
