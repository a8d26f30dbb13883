"""Predictors of every kind on disk."""

import hashlib
import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

from mpu_cli import bundle
from mpu_cli.core.model.stacking import LinearModel, StackedModel
from mpu_cli.errors import ModelError
from mpu_cli.methods.baselines.rbf import KernelModel
from tests.bundle.models import KNOWN, THRESHOLDS, D, Q, edit, npz, of_model
from tests.golden import refused

RNG = np.random.default_rng(0)
MATRIX = random_array((5, D), density=0.7, format="csr", dtype=np.float32, rng=RNG)


def normal(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def trained(predictor) -> bundle.TrainedModel:
    return bundle.TrainedModel("a method", predictor, np.arange(Q), np.full(Q, 0.5), KNOWN, {"note": "é"})


SUPPORT = csr_array(np.array([[0, 1, 0, 2], [3, 0, 0, 0], [0, 0, 0, 0]], np.float32))
PREDICTORS = {
    "one level": StackedModel((LinearModel(normal(D, Q), normal(Q)),), 0, THRESHOLDS),
    "with frequencies": StackedModel((LinearModel(normal(D, Q), normal(Q)),), 0, THRESHOLDS, np.array([0.1, 0.7, 1])),
    "kernel": KernelModel(SUPPORT, normal(3, Q), 0.7, THRESHOLDS),
    "kernel with a bias": KernelModel(SUPPORT, normal(3, Q), 0.7, THRESHOLDS, 1.0),
    "kernel with wide indices": KernelModel(
        csr_array((SUPPORT.data, SUPPORT.indices.astype(np.int64), SUPPORT.indptr.astype(np.int64)), SUPPORT.shape),
        normal(3, Q),
        0.7,
        THRESHOLDS,
    ),
}


@pytest.mark.parametrize("predictor", PREDICTORS.values(), ids=PREDICTORS.keys())
def test_any_predictor_loads_equal(path, predictor):
    bundle.save(trained(predictor), path)
    loaded = bundle.load(path)
    assert (loaded.method, loaded.options) == ("a method", {"note": "é"})
    assert type(loaded.predictor) is type(predictor)
    assert loaded.predictor.n_features == D
    np.testing.assert_array_equal(loaded.predictor.thresholds, THRESHOLDS, strict=True)
    before, after = (model.probabilities(MATRIX) for model in (predictor, loaded.predictor))
    np.testing.assert_array_equal(after, before, strict=True)


def test_what_there_is_for_each_label_is_not_in_the_manifest(path):
    """Neither frequencies nor the option c: a manifest of 10^6 labels would take seconds to read."""
    q = 2000
    c = np.random.default_rng(0).uniform(0.1, 1, q)
    level = LinearModel(csr_array((D, q), dtype=np.float32), normal(q))
    predictor = StackedModel((level,), 0, np.full(q, 0.5, np.float32), c)
    model = bundle.TrainedModel("elkan08", predictor, np.arange(q), c, KNOWN, {"c": c.tolist(), "cost": 1.0})
    bundle.save(model, path)
    assert (path / "manifest.json").stat().st_size < 2000
    loaded = bundle.load(path)
    assert loaded.options == model.options
    np.testing.assert_array_equal(loaded.predictor.frequencies, c, strict=True)
    bundle.save(replace(model, c=np.ones(q)), path)  # then the list says something else
    assert bundle.load(path).options == model.options


def put_only_file(path, part: str, **arrays):
    """Put other arrays in place of those of a model of one part."""
    data = npz(**arrays)
    checksum = hashlib.sha256(data).hexdigest()
    name = f"{part}-{checksum[:16]}.npz"
    (path / name).write_bytes(data)
    edit(path, files=[{"file": name, "sha256": checksum}])


def kernel_arrays(**changes) -> dict:
    arrays = {
        "coefficients": PREDICTORS["kernel"].coefficients,
        "data": SUPPORT.data,
        "indices": SUPPORT.indices.astype(np.int32),
        "indptr": SUPPORT.indptr.astype(np.int64),
    }
    arrays |= of_model(trained(PREDICTORS["kernel"]))
    return arrays | {name: np.array(value, arrays[name].dtype) for name, value in changes.items()}


@pytest.fixture
def kernel(path):
    bundle.save(trained(PREDICTORS["kernel"]), path)
    return path


def test_a_kernel_put_in_unchanged_loads(kernel):
    put_only_file(kernel, "kernel", **kernel_arrays())
    np.testing.assert_array_equal(bundle.load(kernel).predictor.support.toarray(), SUPPORT.toarray())


@pytest.mark.parametrize(
    "changes",
    [
        {"indices": [1, D, 0]},
        {"indices": [1, -1, 0]},
        {"indices": [3, 1, 0]},
        {"indices": [1, 1, 0]},
        {"indptr": [0, 2, 2, 2]},
        {"indptr": [0, 3, 2, 3]},
        {"indptr": [1, 2, 3, 3]},
        {"indptr": [0, 2, 3, 2**40]},
        {"indptr": [0, 2, 3, 2]},
        {"indptr": [0, -1, 3, 3]},
        {"data": [1, 2, np.nan]},
        {"coefficients": np.full((3, Q), np.inf)},
        {"coefficients": np.zeros((2, Q))},
    ],
    ids=repr,
)
def test_a_damaged_kernel_is_refused(kernel, changes):
    put_only_file(kernel, "kernel", **kernel_arrays(**changes))
    with refused(ModelError):
        bundle.load(kernel)


@pytest.mark.parametrize(
    "changes",
    [
        {"gamma": 0},
        {"gamma": -1},
        {"gamma": float("nan")},
        {"gamma": float("inf")},
        {"gamma": None},
        {"constant": -1},
        {"constant": float("nan")},
        {"constant": "1"},
        {"support": 0},
        {"support": 3.0},
        {"support": 10**12},
        {"entries": -3},
        {"entries": 2},
    ],
    ids=repr,
)
def test_damaged_numbers_of_a_kernel_are_refused(kernel, changes):
    numbers = json.loads((kernel / "manifest.json").read_text())["predictor"]
    edit(kernel, predictor=numbers | changes)
    with refused(ModelError):
        bundle.load(kernel)


def test_answers_of_well_are_said_to_be_no_model(path):
    bundle.save(trained(PREDICTORS["one level"]), path)
    edit(path, kind="transductive", method="well")
    with refused(ModelError):
        bundle.load(path)
