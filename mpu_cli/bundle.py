"""A trained model on disk: a directory with one ``.npz`` bundle a level and a JSON manifest that names them.

A reader sees the old model or the new one, never a mixture: bundles are named after their content, and the manifest
is replaced last, by a rename. Nothing is unpickled, and everything is checked before it is used, so that a directory
from elsewhere can do no harm.
"""

import fcntl
import hashlib
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from scipy.sparse import csr_array

from mpu_cli import __version__
from mpu_cli.core.sgd import LinearModel
from mpu_cli.core.stacking import StackedModel
from mpu_cli.errors import ModelError

FORMAT_VERSION = 1
_MANIFEST = "manifest.json"
_BUNDLE_NAME = re.compile(r"level\d+-[0-9a-f]{16}\.npz")
_TEMPORARY = ".writing-"


@dataclass(frozen=True)
class TrainedModel:
    """A stacked model with what it takes to read files and write predictions with it.

    Attributes
    ----------
    stacked : StackedModel
    label_ids : ndarray of int64, shape (q,)
        The label, as written in files, of each column.
    c : ndarray of float64, shape (q,)
        Label frequency that was trained with.
    known : ndarray of bool, shape (D,)
        Which features occurred in training.
    options : dict
        Options and findings of the training, for the record; JSON values.
    """

    stacked: StackedModel
    label_ids: np.ndarray
    c: np.ndarray
    known: np.ndarray
    options: dict

    def count_unknown(self, matrix: csr_array) -> int:
        """Count the feature entries of a matrix whose feature never occurred in training."""
        within = matrix.indices[matrix.indices < len(self.known)]
        return matrix.nnz - int(self.known[within].sum())


def check_target(path: Path) -> None:
    """Refuse a path where no model can be written, before the work of training is done.

    Raises
    ------
    ModelError
        A file is there, or a directory with other things in it; the directory above is missing or cannot be
        written to.
    """
    if path.is_dir():
        if foreign := [entry.name for entry in path.iterdir() if not _ours(entry.name)]:
            raise ModelError(f"{path}: holds other files ({min(foreign)}), so it is not a model; choose another name")
    elif path.exists() or path.is_symlink():
        raise ModelError(f"{path}: is not a directory, and a model is one; choose another name")
    elif not path.absolute().parent.is_dir():
        raise ModelError(f"{path}: there is no directory {path.absolute().parent}; make it first")
    if not os.access(path if path.is_dir() else path.absolute().parent, os.W_OK | os.X_OK):
        raise ModelError(f"{path}: cannot be written: permission denied")


def save(model: TrainedModel, path: Path) -> None:
    """Write a model; one that is there stays in use until the new one is complete.

    Parameters
    ----------
    model : TrainedModel
    path : Path
        Directory, made if need be.

    Raises
    ------
    ModelError
        It cannot be written (see `check_target`), or the device is full; a model that was there is intact.
    """
    check_target(path)
    made = not path.exists()
    try:
        path.mkdir(exist_ok=True)
        with _only_writer(path):
            try:
                bundles = [_write_bundle(path, number, arrays) for number, arrays in enumerate(_arrays(model))]
                _write_manifest(path, _manifest(model, bundles))
            finally:
                _remove_unused(path)
    except BaseException as error:
        if made:
            with suppress(OSError):
                path.rmdir()
        if isinstance(error, OSError):
            raise ModelError(f"{path}: cannot be written: {error.strerror}") from error
        raise


def load(path: Path) -> TrainedModel:
    """Read a model and check every part of it.

    Raises
    ------
    ModelError
        There is no model, or it is damaged, or was written by a newer version.
    """
    while True:
        text = _read_manifest(path)
        try:
            return _load(path, text)
        except FileNotFoundError as error:
            # A training may have replaced the model since its manifest was read.
            if _read_manifest(path) == text:
                raise ModelError(f"{path}: {Path(error.filename).name} is missing; train the model again") from error


def _ours(name: str) -> bool:
    return name == _MANIFEST or name.startswith(_TEMPORARY) or bool(_BUNDLE_NAME.fullmatch(name))


@contextmanager
def _only_writer(path: Path) -> Iterator[None]:
    """Hold a directory, so that two trainings do not take each other's bundles for unused ones."""
    directory = os.open(path, os.O_RDONLY)
    try:
        with suppress(OSError):  # some network file systems have no locks
            fcntl.flock(directory, fcntl.LOCK_EX)
        yield
    finally:
        os.close(directory)


def _remove_unused(path: Path) -> None:
    """Remove what the manifest does not name: bundles of an earlier model, and what a run that failed has left."""
    try:
        named = (path / _MANIFEST).read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        named = ""
    for entry in path.iterdir():
        if _ours(entry.name) and entry.name != _MANIFEST and entry.name not in named:
            entry.unlink(missing_ok=True)


def _arrays(model: TrainedModel) -> Iterator[dict[str, np.ndarray]]:
    """Yield the arrays of each level's bundle."""
    for number, level in enumerate(model.stacked.levels):
        known = {"known": model.known} if number == 0 else {}
        yield {"weights": level.weights, "bias": level.bias} | known


def _write_bundle(path: Path, number: int, arrays: dict[str, np.ndarray]) -> dict:
    temporary = path / f"{_TEMPORARY}level{number}-{os.getpid()}"
    with temporary.open("wb") as file:
        np.savez(file, **arrays)
        _to_disk(file)
    with temporary.open("rb") as file:
        checksum = _checksum(file)
    target = path / f"level{number}-{checksum[:16]}.npz"
    temporary.replace(target)
    return {"file": target.name, "sha256": checksum}


def _write_manifest(path: Path, manifest: dict) -> None:
    temporary = path / f"{_TEMPORARY}manifest-{os.getpid()}"
    with temporary.open("w", encoding="utf-8") as file:
        json.dump(manifest, file, indent=1)
        file.write("\n")
        _to_disk(file)
    temporary.replace(path / _MANIFEST)


def _to_disk(file) -> None:
    file.flush()
    os.fsync(file.fileno())


def _checksum(file: BinaryIO) -> str:
    return hashlib.file_digest(file, "sha256").hexdigest()


def _manifest(model: TrainedModel, bundles: list[dict]) -> dict:
    return {
        "format": "mpu model",
        "format_version": FORMAT_VERSION,
        "mpu_version": __version__,
        "method": "mpu",
        "options": model.options,
        "features": model.stacked.n_features,
        "scale": model.stacked.scale,
        "labels": model.label_ids.tolist(),
        "c": model.c.tolist(),
        "thresholds": model.stacked.thresholds.tolist(),
        "levels": bundles,
    }


def _read_manifest(path: Path) -> str:
    try:
        return (path / _MANIFEST).read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        found = "is not a model (it has no manifest.json)" if path.exists() else "there is no such model"
        raise ModelError(f"{path}: {found}; make one with mpu train") from None
    except UnicodeDecodeError as error:
        raise ModelError(f"{path}: manifest.json is damaged ({error.reason}); train the model again") from error
    except OSError as error:
        raise ModelError(f"{path}: manifest.json cannot be read: {error.strerror}") from error


def _load(path: Path, text: str) -> TrainedModel:
    try:
        manifest = json.loads(text)
        version = manifest["format_version"]
        if manifest["format"] != "mpu model" or not isinstance(version, int):
            raise ValueError("of another format")
        if version > FORMAT_VERSION:
            raise ModelError(f"{path}: written by a newer mpu (model format {version}); install that version")
        label_ids = np.array(manifest["labels"])
        _expect(label_ids.dtype == np.int64, "labels are not whole numbers")
        c = np.array(manifest["c"], np.float64)
        thresholds = np.array(manifest["thresholds"], np.float64)
        scale, D, q = float(manifest["scale"]), int(manifest["features"]), len(label_ids)
        _expect(q > 0 and label_ids.shape == c.shape == thresholds.shape == (q,), "lists of unequal length")
        _expect(bool(np.all(np.diff(label_ids) > 0) and label_ids[0] >= 0), "labels out of order")
        _expect(bool(np.all((c > 0) & (c <= 1))), "label frequencies out of range")
        _expect(bool(np.all((thresholds >= 0) & (thresholds <= 1))), "thresholds out of range")
        _expect(0 <= scale <= float(np.finfo(np.float32).max) and D >= 0, "numbers out of range")
        bundles = [(str(level["file"]), str(level["sha256"])) for level in manifest["levels"]]
        _expect(bool(bundles), "no levels")
        for name, _ in bundles:
            _expect(bool(_BUNDLE_NAME.fullmatch(name)), f"no bundle can be named {name[:80]!r}")
        options = dict(manifest["options"])
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        problem = f"{error} is missing" if isinstance(error, KeyError) else error
        raise ModelError(f"{path}: manifest.json is damaged ({problem}); train the model again") from error

    levels = []
    known = None
    for number, (name, checksum) in enumerate(bundles):
        shapes = {"weights": (np.float32, (D + number * q, q)), "bias": (np.float32, (q,))}
        if number == 0:
            shapes["known"] = (np.bool_, (D,))
        arrays = _read_bundle(path / name, checksum, shapes)
        known = arrays.get("known", known)
        levels.append(LinearModel(arrays["weights"], arrays["bias"]))
    return TrainedModel(StackedModel(tuple(levels), scale, thresholds.astype(np.float32)), label_ids, c, known, options)


def _expect(condition: bool, otherwise: str) -> None:
    if not condition:
        raise ValueError(otherwise)


def _read_bundle(path: Path, checksum: str, shapes: dict) -> dict[str, np.ndarray]:
    """Read the arrays of one bundle, each of the dtype and shape that the manifest makes it have, and finite."""
    try:
        with path.open("rb") as file:
            _expect(_checksum(file) == checksum, "its checksum is not that of the manifest")
            file.seek(0)
            with np.load(file, allow_pickle=False) as bundle:
                _expect(set(bundle.files) == set(shapes), "it holds other arrays")
                arrays = dict(bundle)
        for name, (dtype, shape) in shapes.items():
            array = arrays[name]
            _expect(array.dtype == dtype and array.shape == shape, f"{name} is {array.dtype} {array.shape}")
            _expect(bool(np.isfinite(array).all()), f"{name} is not finite")
    except (FileNotFoundError, MemoryError):
        raise
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror or error}") from error
    except Exception as error:  # a damaged zip archive raises errors of many types
        raise ModelError(f"{path}: is damaged ({error}); train the model again") from error
    return arrays
