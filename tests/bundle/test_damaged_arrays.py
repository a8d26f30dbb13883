"""Arrays that cannot be those of a model, in files whose checksums are right."""

import json
import pickle

import numpy as np
import pytest

from mpu_cli import bundle
from mpu_cli.core.data.features import Columns
from mpu_cli.core.model.stacking import LinearModel, StackedModel
from mpu_cli.errors import ModelError
from tests.bundle.models import (
    Q,
    assert_same,
    edit,
    level_arrays,
    make_model,
    make_model_in_strata,
    make_sparse_model,
    npy,
    npz,
    put_bundle,
)
from tests.golden import refused


def changed(arrays: dict, name: str, value, dtype=None) -> dict:
    """Return arrays with one of them changed, of the same dtype unless another is given."""
    return arrays | {name: np.array(value, arrays[name].dtype if dtype is None else dtype)}


def files():
    whole = level_arrays(0)
    nan, infinite = whole["weights"].copy(), whole["bias"].copy()
    nan[1, 1], infinite[0] = np.nan, np.inf
    yield "extra array", npz(**whole, more=np.zeros(1))
    for name in whole:
        yield f"{name} missing", npz(**{other: array for other, array in whole.items() if other != name})
        yield f"{name} too long", npz(**whole | {name: np.concatenate([whole[name], whole[name][:1]])})
        yield (
            f"{name} in another byte order",
            npz(**whole | {name: whole[name].astype(whole[name].dtype.newbyteorder())}),
        )
        yield f"{name} of single bytes", npz(**whole | {name: whole[name].astype(np.int8)})
    yield "wrong dtype", npz(**whole | {"weights": whole["weights"].astype(float)})
    yield "labels of 32 bits", npz(**whole | {"labels": whole["labels"].astype(np.int32)})
    yield "known of 64 bits", npz(**whole | {"known": whole["known"].astype(np.int64)})
    yield "known as in format 2", npz(**whole | {"known": np.array([False, True, True, False])})
    yield "wrong shape", npz(**whole | {"weights": whole["weights"].T})
    yield "nan", npz(**whole | {"weights": nan})
    yield "infinite", npz(**whole | {"bias": infinite})
    yield "c not a number", npz(**changed(whole, "c", [np.nan, 1, 1]))
    yield "threshold not a number", npz(**changed(whole, "thresholds", [np.nan, 1, 1]))
    yield "threshold infinite", npz(**changed(whole, "thresholds", [np.inf, 1, 1]))
    yield "objects", npz(**whole | {"bias": np.array([1, "two", None], object)})
    yield "pickle", pickle.dumps(whole)
    yield "one array", npy(whole["weights"])
    yield "empty", b""
    yield "truncated", npz(**whole)[:-30]
    yield "text", b"1 1:1" * 50


@pytest.mark.parametrize("data", [pytest.param(data, id=name) for name, data in files()])
def test_a_file_of_other_content_is_an_error_that_names_it(saved, data):
    put_bundle(saved, 0, data)
    with refused(ModelError):
        bundle.load(saved)


OF_LABELS = {
    "labels out of order": ("labels", [7, 0, 9]),
    "a label twice": ("labels", [0, 7, 7]),
    "a negative label": ("labels", [-1, 7, 9]),
    "a label beyond the file format": ("labels", [0, 7, 2**31 - 1]),
    "c zero": ("c", [0, 1, 1]),
    "c above one": ("c", [1.5, 1, 1]),
    "c negative": ("c", [-1, 1, 1]),
    "threshold negative": ("thresholds", [-0.5, 0.5, 0.5]),
    "threshold above one": ("thresholds", [0.5, 0.5, 1.5]),
    "known out of order": ("known", [2, 1]),
    "known twice": ("known", [1, 1]),
    "known negative": ("known", [-1, 2]),
    "known beyond the features": ("known", [1, 4]),
}


@pytest.mark.parametrize(("name", "values"), OF_LABELS.values(), ids=OF_LABELS)
def test_numbers_that_cannot_be_are_refused(saved, name, values):
    put_bundle(saved, 0, npz(**changed(level_arrays(0), name, values)))
    with refused(ModelError, "news.mpu: "):
        bundle.load(saved)


@pytest.mark.parametrize(
    ("name", "values"), [("labels", [0, 2**63 - 1, -(2**63), -1, 5]), ("known", [0, 2**31 - 1, -(2**31), -1, 5])]
)
def test_numbers_whose_differences_leave_their_type_are_out_of_order(path, name, values):
    level = LinearModel(np.zeros((6, 5), np.float32), np.zeros(5, np.float32))
    predictor = StackedModel((level,), 0, np.ones(5, np.float32))
    known = Columns(np.arange(5, dtype=np.int32), 6)
    model = bundle.TrainedModel("br", predictor, np.arange(5), np.ones(5), known, {})
    bundle.save(model, path)
    put_bundle(path, 0, npz(**changed(level_arrays(0, model), name, values)))
    with refused(ModelError, "news.mpu: "):
        bundle.load(path)


@pytest.mark.parametrize("strata", [[-1, 0, 2], [0, 5, 2]], ids=str)
def test_strata_without_a_calibration_are_refused(path, strata):
    model = make_model_in_strata()
    bundle.save(model, path)
    put_bundle(path, 0, npz(**changed(level_arrays(0, model), "strata", strata)))
    with refused(ModelError, "news.mpu: "):
        bundle.load(path)


def test_a_stratum_without_a_map_is_refused(path):
    bundle.save(make_model_in_strata(), path)
    predictor = json.loads((path / "manifest.json").read_text())["predictor"]
    predictor["calibrations"][-1][3] = None
    edit(path, predictor=predictor)
    with refused(ModelError, "news.mpu: "):
        bundle.load(path)


def test_a_file_put_in_unchanged_loads(saved):
    put_bundle(saved, 0, npz(**level_arrays(0)))
    assert_same(bundle.load(saved), make_model())


# Weights in a sparse matrix: level 1, of shape (2 + Q, Q), with these columns in its rows.

WEIGHTS = {"data": [1.0] * 6, "indices": [0, 2, 0, 1, 2, 1], "indptr": [0, 2, 5, 5, 6, 6]}


def sparse_arrays(**changes) -> dict:
    bias = level_arrays(1, make_sparse_model())["bias"]
    dtypes = {"data": np.float32, "indices": np.int32, "indptr": np.int64}
    arrays = {name: np.array(value, dtypes[name]) for name, value in (WEIGHTS | changes).items()}
    return arrays | {"bias": bias}


def put_sparse(path, arrays: dict, entries=6):
    put_bundle(path, 1, npz(**arrays))
    numbers = json.loads((path / "manifest.json").read_text())["predictor"]
    edit(path, predictor=numbers | {"entries": [numbers["entries"][0], entries]})


def test_other_sparse_weights_load(sparse):
    put_sparse(sparse, sparse_arrays())
    assert bundle.load(sparse).predictor.levels[1].weights.sum() == 6


SPARSE_DAMAGE = {
    "a label beyond": {"indices": [0, Q, 0, 1, 2, 1]},
    "a label below": {"indices": [-1, 2, 0, 1, 2, 1]},
    "labels of a row out of order": {"indices": [2, 0, 0, 1, 2, 1]},
    "a label twice in a row": {"indices": [0, 2, 0, 1, 1, 1]},
    "rows out of order": {"indptr": [0, 5, 2, 5, 6, 6]},
    "rows from one on": {"indptr": [1, 2, 5, 5, 6, 6]},
    "rows below": {"indptr": [0, -1, 5, 5, 6, 6]},
    "rows beyond the entries": {"indptr": [0, 2, 5, 5, 6, 7]},
    "rows far beyond the entries": {"indptr": [0, 2, 5, 5, 6, 2**40]},
    "rows that 32 bits bring back": {"indptr": [0, 2**32 + 2, 5, 5, 6, 6]},
    "rows that 32 bits bring back from below": {"indptr": [0, 2 - 2**32, 5, 5, 6, 6]},
    "rows from one on, of 32 bits": {"indptr": [2**32, 2, 5, 5, 6, 6]},
    "entries of no row": {"indptr": [0, 2, 5, 5, 5, 5]},
    "a row more": {"indptr": [0, 2, 5, 5, 6, 6, 6]},
    "a row less": {"indptr": [0, 2, 5, 5, 6]},
    "values too few": {"data": [1.0] * 5},
    "values too many": {"data": [1.0] * 7},
    "labels too few": {"indices": [0, 2, 0, 1, 2]},
    "not a number": {"data": [1.0] * 5 + [np.nan]},
}


@pytest.mark.parametrize("changes", SPARSE_DAMAGE.values(), ids=SPARSE_DAMAGE)
def test_sparse_weights_that_cannot_be_are_refused(sparse, changes):
    put_sparse(sparse, sparse_arrays(**changes))
    with refused(ModelError):
        bundle.load(sparse)


@pytest.mark.parametrize("dtypes", [{"data": np.float64}, {"indices": np.int64}, {"indptr": np.int32}], ids=repr)
def test_sparse_weights_of_other_types_are_refused(sparse, dtypes):
    arrays = sparse_arrays()
    put_sparse(sparse, arrays | {name: arrays[name].astype(dtype) for name, dtype in dtypes.items()})
    with refused(ModelError):
        bundle.load(sparse)


@pytest.mark.parametrize("entries", [5, 7, 0, None, 2**40, -6, 6.0])
def test_another_number_of_entries_is_refused(sparse, entries):
    put_sparse(sparse, sparse_arrays(), entries)
    with refused(ModelError):
        bundle.load(sparse)


def test_dense_weights_in_place_of_sparse_ones_are_refused(sparse):
    put_sparse(sparse, {"weights": np.ones((2 + Q, Q), np.float32), "bias": np.zeros(Q, np.float32)})
    with refused(ModelError):
        bundle.load(sparse)


def test_weights_of_known_features_are_not_taken_for_those_of_all(sparse):
    numbers = json.loads((sparse / "manifest.json").read_text())["predictor"]
    edit(sparse, predictor=numbers | {"compact": False})
    with refused(ModelError):
        bundle.load(sparse)
