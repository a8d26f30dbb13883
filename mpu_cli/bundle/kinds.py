"""Serialisation of each kind of predictor, and its reverse from files that may be damaged.

A predictor consists of numbers, which the manifest has, and of arrays, which are in one file for each part. The layout
of the parts follows from the numbers.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.bundle.model_files import Layout
from mpu_cli.core.data.features import Columns
from mpu_cli.core.data.predictions import Top
from mpu_cli.core.model.calibration import AnyCalibration, Calibration, StratifiedCalibration
from mpu_cli.core.model.stacking import LinearModel, RbfFeatures, StackedModel
from mpu_cli.runtime.untrusted import expect
from mpu_cli.svmlight.dataset import checked_csr
from mpu_cli.svmlight.grammar import MAX_ID

Parts = dict[str, dict[str, np.ndarray]]


@dataclass(frozen=True)
class Kind:
    """A kind of predictor."""

    numbers: Callable[[Any], dict[str, Any]]  # returns the JSON values of a predictor that are not in its arrays
    parts: Callable[[Any], Parts]  # returns the arrays of a predictor, by part and name
    # Yields name and layout of each part, from the numbers, the number of features that occurred in training, D and q
    layouts: Callable[[dict[str, Any], int, int, int], Iterator[tuple[str, Layout]]]
    # Restores the predictor from the numbers, the arrays, the features that occurred in training, and the thresholds.
    # Raises ValueError if they do not make one.
    predictor: Callable[[dict[str, Any], Parts, Columns, np.ndarray], StackedModel]


def kind_of(predictor: StackedModel) -> str:
    """Return the name of a predictor's kind."""
    return "stacked" if predictor.kernel is None else "rbf"


def whole(number: Any, least: int = 0) -> int:
    """Return a JSON value that is a whole number; ValueError if it is none, or less than `least`."""
    expect(type(number) is int and number >= least, f"a number is missing that is whole and at least {least}")
    return number


def real(number: Any) -> float:
    """Return a JSON value that is a number; ValueError if it is none."""
    expect(type(number) in (int, float), "a number is missing")
    return float(number)


def number_list(values: Any, name: str, dtype: type) -> np.ndarray:
    """Return a JSON value that is a list of numbers, whole ones for an integer dtype, as an array.

    Types are checked first, since NumPy would give every text of a list the length of the longest. ValueError or
    OverflowError if types or sizes are wrong.
    """
    types = {int} if np.issubdtype(dtype, np.integer) else {int, float}
    expect(type(values) is list and set(map(type, values)) <= types, f"{name} are not a list of numbers")
    return np.array(values, dtype)


# Of a calibration, and how large their values can be.
_LOG_ODDS = ("predicted", "actual")
_LARGEST_LOG_ODDS = 1e4
# In place of frequencies that are in an array, one for each label.
_IN_FIRST_PART = "level0"


def _stacked_numbers(model: StackedModel) -> dict[str, Any]:
    top = model.top
    entries = [level.weights.nnz if isinstance(level.weights, csr_array) else None for level in model.levels]
    return {
        "levels": len(model.levels),
        "scale": model.scale,
        "frequencies": None if model.frequencies is None else _IN_FIRST_PART,
        "calibrations": [
            _calibration_numbers(calibration) for calibration in model.calibrations or (None,) * len(model.levels)
        ],
        "top": top and {"most": top.most, "least": top.least},
        "compact": model.columns is not None,
        "entries": entries,
    }


def _calibration_numbers(calibration: AnyCalibration | None) -> dict[str, Any] | list[Any] | None:
    if isinstance(calibration, StratifiedCalibration):
        return [_calibration_numbers(of_stratum) for of_stratum in calibration.maps]
    return None if calibration is None else {name: getattr(calibration, name).tolist() for name in _LOG_ODDS}


def _stacked_parts(model: StackedModel) -> Parts:
    parts = {f"level{i}": _weights(level.weights) | {"bias": level.bias} for i, level in enumerate(model.levels)}
    if model.frequencies is not None:
        parts["level0"]["frequencies"] = model.frequencies.astype(np.float64)
    if isinstance(model.calibration, StratifiedCalibration):
        parts["level0"]["strata"] = model.calibration.strata
    return parts


def _weights(weights: np.ndarray | csr_array) -> dict[str, np.ndarray]:
    if isinstance(weights, np.ndarray):
        return {"weights": weights}
    return {
        "data": weights.data,
        "indices": weights.indices.astype(np.int32),
        "indptr": weights.indptr.astype(np.int64),
    }


def _csr_layout(entries: int, rows: int) -> Layout:
    return {"data": (np.float32, (entries,)), "indices": (np.int32, (entries,)), "indptr": (np.int64, (rows + 1,))}


def _stacked_layouts(numbers: dict[str, Any], n_known: int, D: int, q: int) -> Iterator[tuple[str, Layout]]:
    n_levels, entries = whole(numbers["levels"], 1), numbers["entries"]
    expect(entries is None or (type(entries) is list and len(entries) == n_levels), "entries are not a list")
    expect(type(numbers["compact"]) is bool, "compact is not true or false")
    width = n_known if numbers["compact"] else D
    for i in range(n_levels):
        layout: Layout = {"bias": (np.float32, (q,))}
        if i == 0 and numbers["frequencies"] == _IN_FIRST_PART:
            layout["frequencies"] = np.float64, (q,)
        if i == 0 and _in_strata(numbers["calibrations"]):
            layout["strata"] = np.int8, (q,)
        rows = width + i * q
        if entries is None or entries[i] is None:
            layout["weights"] = np.float32, (rows, q)
        else:
            layout |= _csr_layout(whole(entries[i]), rows)
        yield f"level{i}", layout


def _stacked(numbers: dict[str, Any], parts: Parts, occurring: Columns, thresholds: np.ndarray) -> StackedModel:
    scale = real(numbers["scale"])
    expect(0 <= scale <= float(np.finfo(np.float32).max), "scale out of range")
    frequencies = numbers["frequencies"]
    if frequencies is not None:
        first = next(iter(parts.values()))
        listed = frequencies != _IN_FIRST_PART  # in files of earlier versions
        frequencies = number_list(frequencies, "frequencies", np.float64) if listed else first["frequencies"]
        expect(frequencies.shape == thresholds.shape, "lists of unequal length")
        expect(bool(np.all((frequencies.astype(np.float32) > 0) & (frequencies <= 1))), "frequencies out of range")
    levels = tuple(
        LinearModel(part["weights"] if "weights" in part else _sparse(part, len(thresholds)), part["bias"])
        for part in parts.values()
    )
    listed, top = numbers["calibrations"], _top(numbers["top"])
    expect(type(listed) is list and len(listed) == len(levels), "there is not a calibration for each level")
    calibrations: list[AnyCalibration | None] = [_calibration(values) for values in listed[: len(levels) - 1]]
    if _in_strata(listed):
        strata, n_strata = next(iter(parts.values()))["strata"], len(listed[-1])
        maps = tuple(of for of in map(_calibration, listed[-1]) if of is not None)
        expect(len(maps) == n_strata and bool(np.isin(strata, np.arange(n_strata)).all()), "strata out of range")
        calibrations.append(StratifiedCalibration(maps, strata))
    else:
        calibrations.append(_calibration(listed[-1]))
    expect(frequencies is None or top is None, "frequencies are for all predictions")
    columns = occurring if numbers["compact"] else None
    return StackedModel(levels, scale, thresholds, frequencies, tuple(calibrations), top, columns)


def _sparse(arrays: dict[str, np.ndarray], n_columns: int) -> csr_array:
    """Return a canonical CSR matrix; ValueError if the arrays do not make one."""
    matrix = checked_csr(arrays["data"], arrays["indices"], arrays["indptr"], n_columns)
    expect(matrix.has_canonical_format, "entries of a row out of order")
    return matrix


def _top(values: dict[str, Any] | None) -> Top | None:
    if values is None:
        return None
    expect(isinstance(values, dict), "top has no names")
    most, least = whole(values["most"], 1), real(values["least"])
    expect(most <= MAX_ID + 1 and 0 < least < 1, "top out of range")
    return Top(most, least)


def _in_strata(calibrations: Any) -> bool:
    """Whether the last of these JSON values is a list, of the calibration of each stratum."""
    return type(calibrations) is list and bool(calibrations) and type(calibrations[-1]) is list


def _calibration(values: dict[str, Any] | None) -> Calibration | None:
    if values is None:
        return None
    expect(isinstance(values, dict), "calibration has no names")
    predicted, actual = (number_list(values[name], name, np.float64) for name in _LOG_ODDS)
    expect(0 < len(predicted) == len(actual), "lists of unequal length")
    for log_odds in (predicted, actual):
        expect(bool(np.all(np.abs(log_odds) <= _LARGEST_LOG_ODDS)), "calibration out of range")
        expect(bool(np.all(np.diff(log_odds) >= 0)), "calibration out of order")
    return Calibration(predicted, actual)


# mpu with features of an RBF kernel: the parts of a stacked model of these, and what makes them

_FEATURES = "features"


def _rbf_numbers(model: StackedModel) -> dict[str, Any]:
    assert model.kernel is not None
    return _stacked_numbers(model) | {"gamma": model.kernel.gamma, "landmarks": len(model.kernel)}


def _rbf_parts(model: StackedModel) -> Parts:
    names = ("mean", "deviation", "landmarks", "normalization")
    return _stacked_parts(model) | {_FEATURES: {name: getattr(model.kernel, name) for name in names}}


def _rbf_layouts(numbers: dict[str, Any], n_known: int, D: int, q: int) -> Iterator[tuple[str, Layout]]:
    m = whole(numbers["landmarks"], 1)
    yield from _stacked_layouts(numbers, m, m, q)
    of_features: Layout = {"mean": (np.float64, (D,)), "deviation": (np.float64, (D,))}
    yield _FEATURES, of_features | {"landmarks": (np.float32, (m, D)), "normalization": (np.float32, (m, m))}


def _rbf(numbers: dict[str, Any], parts: Parts, occurring: Columns, thresholds: np.ndarray) -> StackedModel:
    expect(not numbers["compact"], "a kernel has all of its features")
    arrays, gamma = parts.pop(_FEATURES), real(numbers["gamma"])
    expect(0 < gamma < math.inf, "gamma out of range")
    expect(bool(np.all(arrays["deviation"] > 0)), "deviations out of range")
    expect(all(np.isfinite(array).all() for array in arrays.values()), "features of a kernel are not finite")
    return replace(_stacked(numbers, parts, occurring, thresholds), kernel=RbfFeatures(gamma=gamma, **arrays))


KINDS = {
    "stacked": Kind(_stacked_numbers, _stacked_parts, _stacked_layouts, _stacked),
    "rbf": Kind(_rbf_numbers, _rbf_parts, _rbf_layouts, _rbf),
}
# Of mpu 0.1: predictions of well for the instances that it had while it learned (it is transductive).
FORMER_KINDS = ("transductive",)
