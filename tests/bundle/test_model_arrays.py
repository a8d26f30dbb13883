"""Predictors on disk."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

from mpu_cli import bundle
from mpu_cli.core.features import RbfFeatures
from mpu_cli.core.linear_model import LinearModel
from mpu_cli.core.stacking import StackedModel
from tests.bundle.models import KNOWN, THRESHOLDS, D, Q

RNG = np.random.default_rng(0)
MATRIX = random_array((5, D), density=0.7, format="csr", dtype=np.float32, rng=RNG)


def normal(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


M = 6
KERNEL = RbfFeatures(RNG.random(D), RNG.random(D) + 0.1, normal(M, D), normal(M, M), 0.3)
PREDICTORS = {
    "one level": StackedModel((LinearModel(normal(D, Q), normal(Q)),), 0, THRESHOLDS),
    "of a kernel": StackedModel((LinearModel(normal(M, Q), normal(Q)),), 0, THRESHOLDS, rbf=KERNEL),
}


@pytest.mark.parametrize("predictor", PREDICTORS.values(), ids=PREDICTORS.keys())
def test_any_predictor_loads_equal(path, predictor):
    bundle.save(bundle.TrainedModel(predictor, np.arange(Q), np.full(Q, 0.5), KNOWN, {"note": "é"}), path)
    loaded = bundle.load(path)
    assert loaded.options == {"note": "é"}
    assert loaded.predictor.n_features == D
    np.testing.assert_array_equal(loaded.predictor.thresholds, THRESHOLDS, strict=True)
    before, after = (model.probabilities(MATRIX) for model in (predictor, loaded.predictor))
    np.testing.assert_array_equal(after, before, strict=True)


def test_what_there_is_for_each_label_is_not_in_the_manifest(path):
    """The option c is not: a manifest of 10^6 labels would take seconds to read."""
    q = 2000
    c = np.random.default_rng(0).uniform(0.1, 1, q)
    level = LinearModel(csr_array((D, q), dtype=np.float32), normal(q))
    predictor = StackedModel((level,), 0, np.full(q, 0.5, np.float32))
    model = bundle.TrainedModel(predictor, np.arange(q), c, KNOWN, {"c": c.tolist(), "cost": 1.0})
    bundle.save(model, path)
    assert (path / "manifest.json").stat().st_size < 2000
    assert bundle.load(path).options == model.options
    bundle.save(replace(model, c=np.ones(q)), path)  # then the list says something else
    assert bundle.load(path).options == model.options
