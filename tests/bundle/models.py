"""Models to save, and ways to change what was saved."""

import hashlib
import io
import json
from dataclasses import fields, is_dataclass, replace
from itertools import zip_longest
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from mpu_cli import bundle
from mpu_cli.bundle.loading import digest
from mpu_cli.core.calibration import Calibration, StratifiedCalibration
from mpu_cli.core.features import Columns, RbfFeatures
from mpu_cli.core.linear_model import LinearModel
from mpu_cli.core.predictions import Top
from mpu_cli.core.stacking import StackedModel
from mpu_cli.names.label_names import LabelNames

D, Q = 4, 3
KNOWN = Columns(np.array([1, 2], np.int32), D)
THRESHOLDS = np.array([0.25, 0.5, 1], np.float32)
TOP = Top(most=2, least=0.01)


def make_model(seed=0, levels=2) -> bundle.TrainedModel:
    levels_ = tuple(_level(seed, (D + level * Q, Q)) for level in range(levels))
    maps = [Calibration(np.array([-4.0, 0.5 + i]), np.array([-5.0, 1 / 3])) for i in range(levels)]
    calibrations = tuple(maps) if levels > 1 else ()
    return _trained(seed, StackedModel(levels_, 0.3, THRESHOLDS, calibrations=calibrations))


def make_model_in_strata(seed=0) -> bundle.TrainedModel:
    """Make one whose last level has a calibration for each stratum of labels."""
    model = make_model(seed)
    maps = tuple(Calibration(np.array([-2.0, i]), np.array([-3.0, i + 0.1])) for i in range(5))
    last = StratifiedCalibration(maps, np.array([4, 0, 2], np.int8))
    return replace(model, predictor=replace(model.predictor, calibrations=(model.predictor.calibrations[0], last)))


def make_named_model() -> bundle.TrainedModel:
    """Make one whose labels have names."""
    return replace(make_model(), names=LabelNames.of({0: ["none"], 7: ["sports", "games"], 2**31 - 2: []}))


def make_sparse_model(seed=0, top=TOP, compact=True) -> bundle.TrainedModel:
    """Make one with weights in sparse matrices, as many labels have; with `compact` only of `KNOWN` features."""
    width = len(KNOWN.indices) if compact else D
    levels = []
    for number in range(2):
        dense = _level(seed + number, (width + number * Q, Q))
        levels.append(LinearModel(csr_array(dense.pruned(0.5).weights), dense.bias))
    return _trained(seed, StackedModel(tuple(levels), 0.3, THRESHOLDS, top=top, columns=KNOWN if compact else None))


def make_kernel_model() -> bundle.TrainedModel:
    """Make one of one level, of a kernel with six landmarks."""
    rng = np.random.default_rng(0)
    landmarks, normalization = (rng.standard_normal(shape).astype(np.float32) for shape in ((6, D), (6, 6)))
    rbf = RbfFeatures(rng.random(D), rng.random(D) + 0.1, landmarks, normalization, 0.3)
    return _trained(0, StackedModel((_level(0, (6, Q)),), 0.0, THRESHOLDS, rbf=rbf))


def _level(seed: int, shape: tuple[int, int]) -> LinearModel:
    rng = np.random.default_rng([seed, *shape])
    weights, bias = rng.standard_normal(shape), rng.standard_normal(shape[1])
    return LinearModel(weights.astype(np.float32), bias.astype(np.float32))


def _trained(seed: int, predictor: StackedModel) -> bundle.TrainedModel:
    label_ids, c = np.array([0, 7, 2**31 - 2]), np.array([0.4, 1, 0.1])
    return bundle.TrainedModel(predictor, label_ids, c, KNOWN, {"seed": seed})


def assert_same(one: object, other: object) -> None:
    """Fail where two models, or parts of them, differ in a type, a shape or a value; names and the like may differ."""
    if isinstance(one, np.ndarray):
        np.testing.assert_array_equal(one, other, strict=True)
    elif isinstance(one, csr_array):
        assert one.shape == other.shape
        for name in ("data", "indices", "indptr"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    elif isinstance(one, tuple):
        for part, same in zip_longest(one, other):  # no calibrations are the same as none of each level
            assert_same(part, same)
    elif is_dataclass(one):
        assert type(one) is type(other)
        for field in fields(one):
            if field.name not in ("names", "packed_vectorizer", "implies", "origin", "version", "files"):
                assert_same(getattr(one, field.name), getattr(other, field.name))
    else:
        assert one == other


def edit(path: Path, **changes):
    """Change keys of the manifest, and its checksum with them; the value `...` removes one."""
    manifest = json.loads((path / "manifest.json").read_text())
    for key, value in changes.items():
        if value is ...:
            del manifest[key]
        else:
            manifest[key] = value
    del manifest["sha256"]
    (path / "manifest.json").write_text(json.dumps(manifest | {"sha256": digest(manifest)}))


def put_bundle(path: Path, number: int, data: bytes):
    """Put other bytes in place of a level's bundle, under a name and a checksum that suit them."""
    checksum = hashlib.sha256(data).hexdigest()
    name = f"level{number}-{checksum[:16]}.npz"
    (path / name).write_bytes(data)
    files = json.loads((path / "manifest.json").read_text())["files"]
    files[number] = {"file": name, "sha256": checksum}
    edit(path, files=files)


def npz(**arrays) -> bytes:
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


def npy(array) -> bytes:
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def level_arrays(model: bundle.TrainedModel | None = None) -> dict:
    """Return the arrays in the file of level 0; of `make_model()` by default."""
    model = make_model() if model is None else model
    level, calibration = model.predictor.levels[0], model.predictor.calibration
    strata = {"strata": calibration.strata} if isinstance(calibration, StratifiedCalibration) else {}
    of_labels = {"labels": model.label_ids, "c": model.c, "thresholds": model.predictor.thresholds}
    return {"weights": level.weights, "bias": level.bias, **strata, **of_labels, "known": model.occurring.indices}
