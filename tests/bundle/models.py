"""Models to save, and ways to change what was saved."""

import hashlib
import io
import json
from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, settings

from mpu_cli import bundle
from mpu_cli.bundle.manifest import digest
from mpu_cli.core.calibration import Calibration
from mpu_cli.core.sgd import LinearModel
from mpu_cli.core.stacking import StackedModel

D, Q = 4, 3
same_directory = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=150)


def make_model(seed=0, levels=2) -> bundle.TrainedModel:
    rng = np.random.default_rng(seed)

    def normal(*shape):
        return rng.standard_normal(shape).astype(np.float32)

    stacked = StackedModel(
        tuple(LinearModel(normal(D + level * Q, Q), normal(Q)) for level in range(levels)),
        0.3,
        np.array([0.25, 0.5, 1], np.float32),
        calibration=Calibration(np.array([-4.0, 0.5]), np.array([-5.0, 1 / 3])) if levels > 1 else None,
    )
    known = np.array([False, True, True, False])
    label_ids, c = np.array([0, 7, 2**31 - 2]), np.array([0.4, 1, 0.1])
    return bundle.TrainedModel("mpu", stacked, label_ids, c, known, {"seed": seed})


def contents(path: Path) -> dict[str, bytes]:
    return {entry.name: entry.read_bytes() for entry in path.iterdir()}


def assert_same(left: bundle.TrainedModel, right: bundle.TrainedModel):
    assert left.method == right.method
    for name in ("label_ids", "c", "known"):
        np.testing.assert_array_equal(getattr(left, name), getattr(right, name), strict=True)
    assert left.options == right.options
    left, right = left.predictor, right.predictor
    assert left.scale == right.scale
    np.testing.assert_array_equal(left.thresholds, right.thresholds, strict=True)
    assert (left.calibration is None) == (right.calibration is None)
    if left.calibration is not None:
        np.testing.assert_array_equal(left.calibration.predicted, right.calibration.predicted, strict=True)
        np.testing.assert_array_equal(left.calibration.actual, right.calibration.actual, strict=True)
    for one, other in zip(left.levels, right.levels, strict=True):
        np.testing.assert_array_equal(one.weights, other.weights, strict=True)
        np.testing.assert_array_equal(one.bias, other.bias, strict=True)


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


def level_arrays(number: int) -> dict:
    level = make_model().predictor.levels[number]
    arrays = {"weights": level.weights, "bias": level.bias}
    return arrays | ({"known": make_model().known} if number == 0 else {})
