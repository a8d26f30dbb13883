"""Save models, one process at a time. An existing model stays in use until the new one is complete.

The temporary files of a training are in a subdirectory of the model. The model changes in one step, the last: the new
manifest replaces the old one. Only that step changes the modification time of the directory, since ``make`` regards a
newer directory as a newer model.

Replaced models are kept as logrotate keeps logs: MODEL.1, the newest, to MODEL.N. Each is a complete model directory.
It shares files with the others by hard links, and no file is ever changed. A model is replaced under its lock in this
order, so that a kill at any point never loses an accepted model:

1. The new model is written to ``MODEL/.training``; then MODEL is copied there, by links.
2. MODEL.n is the first free name. MODEL.(n-1) becomes MODEL.n, and so on, until MODEL.1 is free.
3. The copy becomes MODEL.1.
4. The new manifest replaces MODEL's manifest: only now is the new model accepted.
5. Models beyond MODEL.N are removed.

A kill before 3 leaves MODEL and perhaps a free name, which the next run fills. A kill before 4 leaves MODEL.1 equal to
MODEL, and the next run does not copy it again. A kill before 5 leaves one model too many until the next run.

How a model was trained (`Origin`) is in a separate file: docs/model-format.md, "Files".
"""

import json
import logging
import os
import platform
import secrets
import shutil
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import count, pairwise, takewhile
from pathlib import Path
from typing import Any, get_origin, get_type_hints

import numpy as np
from scipy.sparse import csr_array

from mpu_cli import __version__
from mpu_cli.bundle import loading
from mpu_cli.core.calibration import AnyCalibration, StratifiedCalibration
from mpu_cli.core.stacking import StackedModel
from mpu_cli.errors import ModelError, without_secrets
from mpu_cli.runtime import signals
from mpu_cli.runtime.files import (
    LOCK,
    Named,
    State,
    checksum,
    create,
    directory_to_disk,
    each_named,
    expect,
    json_object,
    locked_directory,
    mode_of,
    remove,
    state_of,
    unchanged_time,
)
from mpu_cli.runtime.options import options_of
from mpu_cli.runtime.run import Run
from mpu_cli.svmlight.streams import Source, files_of

_log = logging.getLogger(__name__)
WORKSHOP = ".training"
# Number of bytes at the start of a manifest, and a text that they contain.
_HEAD_BYTES, _FORMAT = 256, b'"format": "mpu model"'


def check_target(path: Path) -> None:
    """Refuse a path where a model cannot be written, before the training.

    Raises ModelError (it is a file, or a directory that contains other files; or its parent directory is missing).
    """
    if not path.absolute().parent.is_dir():
        raise ModelError(f"{path}: there is no directory {path.absolute().parent}; make it first")
    try:  # without checking first whether it exists: other training runs create and remove it
        entries = list(path.iterdir())
    except (FileNotFoundError, NotADirectoryError) as error:
        if isinstance(error, NotADirectoryError) or path.is_symlink():
            raise ModelError(f"{path}: is not a directory, but a model is one; choose another name") from None
        return
    if foreign := [entry.name for entry in entries if not _is_ours(entry)]:
        raise ModelError(f"{path}: contains other files ({min(foreign)}), so it is not a model; choose another name")
    names = {entry.name for entry in entries}
    has_arrays = any(map(loading.ARRAYS_NAME.fullmatch, names))  # a model may have lost them
    if loading.MANIFEST in names and not has_arrays and _FORMAT not in (loading.manifest_of(path) or b"")[:_HEAD_BYTES]:
        raise ModelError(f"{path}: contains a manifest.json that is not from a model; choose another name")


class Writer:
    """Saves models in a directory while it is `held`: locked for one training."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._is_held: Callable[[], bool] = lambda: False  # whether the path leads to the locked directory

    def save(self, model: loading.TrainedModel, keep: int | None = None) -> None:
        """Save a model.

        An existing model stays in use until the new one is complete, and remains intact if that fails (ModelError).
        If the directory was moved or removed meanwhile, a new one is created; BusyError if another training has started
        there.

        `keep`: keep this many replaced models, as MODEL.1 and so on. Default: leave all kept models unchanged.
        """
        path = self._path
        with self.held(), _said_to_be_unwritable(path):
            with unchanged_time(path):
                (path / WORKSHOP).mkdir(exist_ok=True)
            files, text = _written(path, model)
            manifest = _write(path / WORKSHOP, text)
            if keep is not None:
                check_kept(path, keep)
                if keep and loading.manifest_of(path) not in (None, text):
                    with _said_to_be_unwritable(kept(path, 1)):
                        _keep_present(path)
            with signals.unbroken:
                with unchanged_time(path):
                    for temporary, name in files.items():
                        temporary.replace(path / name)
                directory_to_disk(path)
                manifest.replace(path / loading.MANIFEST)
            directory_to_disk(path)
            if keep is not None:
                for beyond in reversed(_beyond(path, keep)):  # the last first, so that a kill leaves no gap
                    try:
                        beyond.rename(path / WORKSHOP / beyond.name)
                    except OSError as error:  # it belongs to another account
                        why = f"{error.strerror}; remove it, as it is older than the {keep} to be kept"
                        _log.warning(f"{beyond}: cannot be removed: {why}")

    @contextmanager
    def held(self) -> Iterator["Writer"]:
        """Lock the directory, again if it was moved or removed, and remove the leftovers of killed training runs.

        It is created if missing; removed at the end if it was created here and no model was saved.
        Raises BusyError (another training is running there), ModelError (a model cannot be written there (see
        `check_target`), or the system forbids it).
        """
        if self._is_held():
            yield self
            return
        path = self._path
        check_target(path)
        with ExitStack() as stack:
            with _said_to_be_unwritable(path):
                is_held = stack.enter_context(locked_directory(path, "try again when it has finished"))
                if {entry.name for entry in path.iterdir()} == {LOCK}:
                    with suppress(OSError):  # as in `unchanged_time`
                        os.utime(path, ns=(0, 0))  # there is no model yet

                def clean() -> None:
                    with suppress(OSError):  # the next training removes the rest
                        if is_held():  # otherwise another directory is there now
                            _remove_leftovers(path)

                stack.enter_context(signals.finally_call(clean))
                _remove_leftovers(path)
            stack.callback(setattr, self, "_is_held", self._is_held)
            self._is_held = is_held
            yield self


def save(model: loading.TrainedModel, path: str | os.PathLike[str]) -> None:
    """Save a trained model (see `Writer`); errors as for `Writer.held`, and ModelError for an empty name."""
    if not os.fspath(path):  # Path("") would be the current directory
        raise ModelError("the name of the model is empty; give it one")
    Writer(Path(path)).save(model)


def _is_ours(entry: Path) -> bool:
    try:
        kind = entry.lstat().st_mode
    except FileNotFoundError:  # the lock of a training that has just ended
        return True
    if entry.name == WORKSHOP:
        return stat.S_ISDIR(kind)
    patterns = loading.ARRAYS_NAME, loading.ORIGIN_NAME, *loading.OTHER_NAMES.values()
    is_ours = entry.name in (loading.MANIFEST, LOCK) or any(pattern.fullmatch(entry.name) for pattern in patterns)
    return is_ours and stat.S_ISREG(kind)  # opening a pipe would block


@contextmanager
def _said_to_be_unwritable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ModelError(f"{path}: cannot be written: {error.strerror}") from error


def _remove_leftovers(path: Path) -> None:
    """Remove files of earlier models and of failed training runs: all those not named in the manifest."""
    try:
        text = loading.read_small(path / loading.MANIFEST)
    except FileNotFoundError:
        text = b""
    except ValueError:  # it is unknown which files belong to it
        return
    named = f"{text.decode(errors='replace')} {loading.origin_name(text)}"
    unnamed = [
        entry for entry in path.iterdir() if entry.name not in (loading.MANIFEST, LOCK) and entry.name not in named
    ]
    with unchanged_time(path):
        for entry in filter(_is_ours, unnamed):
            remove(entry)


def check_kept(path: Path, keep: int) -> list[Path]:
    """Return the kept models: the existing ones of MODEL.1, the newest, to MODEL.keep, and those that follow directly.

    Raises ModelError (something else has the name of one).
    """
    found = [*filter(os.path.lexists, (kept(path, number) for number in range(1, keep + 1))), *_beyond(path, keep)]
    for other in found:
        try:
            check_target(other)
        except ModelError as error:
            raise ModelError(f"{error}: models that were replaced are kept under this one") from None
    return found


def _written(path: Path, model: loading.TrainedModel) -> tuple[dict[Path, str], bytes]:
    """Write the files of a model. Return the final name of each, and the manifest."""
    temporaries: dict[Path, str] = {}

    def keep(part: str, content: bytes | dict[str, np.ndarray], suffix: str = "npz") -> dict[str, Any]:
        temporary = _write(path / WORKSHOP, content)
        sha256 = checksum(temporary)
        temporaries[temporary] = f"{part}-{sha256[:16]}.{suffix}"
        return {"file": temporaries[temporary], "sha256": sha256}

    options = model.options
    if isinstance(c := options.get("c"), list) and c == model.c.tolist():
        options = options | {"c": loading.C_OF_LABELS}
    values: dict[str, Any] = {
        "format": loading.FORMAT,
        "format_version": loading.FORMAT_VERSION,
        "mpu_version": __version__,
        "options": options,
        "features": model.predictor.n_features,
        "features_known": len(model.occurring.indices),
        "labels": len(model.label_ids),
        "predictor": _numbers_of(model.predictor),
        "files": [keep(part, arrays) for part, arrays in _parts_of(model).items()],
    }
    if model.names:
        values["names"] = keep("labels", model.names.text, "txt")
    if model.packed_vectorizer is not None:
        values["vectorizer"] = keep("vectorizer", model.packed_vectorizer, "bin")
    if model.implies is not None and model.implies.nnz:
        narrower, broader = (places.astype(np.int32) for places in model.implies.nonzero())
        values["implied"] = keep("implied", {"narrower": narrower, "broader": broader}) | {"pairs": len(narrower)}
    text = json.dumps(values | {"sha256": loading.digest(values)}, indent=1).encode() + b"\n"
    if len(text) > loading.MOST_BYTES:
        raise ModelError(f"{path}: cannot be written: its manifest has {len(text):,} bytes")
    if model.origin is not None:
        temporaries[_write(path / WORKSHOP, model.origin)] = loading.origin_name(text)
    return temporaries, text


def _numbers_of(model: StackedModel) -> dict[str, Any]:
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
    return None if calibration is None else {name: getattr(calibration, name).tolist() for name in loading.LOG_ODDS}


def _parts_of(model: loading.TrainedModel) -> loading.Parts:
    predictor = model.predictor
    parts: loading.Parts = {}
    for i, level in enumerate(predictor.levels):
        weights = level.weights
        if isinstance(weights, np.ndarray):
            arrays = {"weights": weights}
        else:
            indices, indptr = weights.indices.astype(np.int32), weights.indptr.astype(np.int64)
            arrays = {"data": weights.data, "indices": indices, "indptr": indptr}
        parts[f"level{i}"] = arrays | {"bias": level.bias}
    first, of_labels = parts["level0"], (model.label_ids, model.c, predictor.thresholds)
    if isinstance(predictor.calibration, StratifiedCalibration):
        first["strata"] = predictor.calibration.strata
    for (name, dtype), array in zip(loading.OF_LABELS.items(), of_labels, strict=True):
        first[name] = np.asarray(array, dtype)
    first["known"] = model.occurring.indices
    if predictor.rbf is not None:
        parts[loading.KERNEL] = {name: getattr(predictor.rbf, name) for name in loading.OF_KERNEL}
    return parts


def _write(folder: Path, content: bytes | dict[str, np.ndarray]) -> Path:
    """Write a file with an unused name and the present manifest's permissions, and flush it to the disk."""
    path, mode = folder / f"{os.getpid()}-{secrets.token_hex(8)}", mode_of(folder.parent / loading.MANIFEST)
    with os.fdopen(create(path, mode), "wb") as file:
        if isinstance(content, bytes):
            file.write(content)
        else:
            np.savez(file, **content)  # type: ignore[arg-type]
        file.flush()
        if mode is not None:
            os.fchmod(file.fileno(), mode)
        os.fsync(file.fileno())
    return path


def kept(model: Path, number: int | str) -> Path:
    """Return MODEL.number, as the model was named; the same for links to the model."""
    real = model.resolve()
    same = model if model.name and model.absolute() == real else real
    return same.with_name(f"{same.name}.{number}")


def _keep_present(model: Path) -> None:
    """Keep a model as MODEL.1, and MODEL.1 as MODEL.2, up to the first name that is free or has the same model."""
    manifest, paths, workshop = loading.manifest_of(model), [kept(model, 1)], model / WORKSHOP
    while os.path.lexists(paths[-1]) and loading.manifest_of(paths[-1]) != manifest:
        paths.append(kept(model, len(paths) + 1))
    is_there = os.path.lexists(paths[-1])
    if is_there and len(paths) == 1:
        return
    copy = workshop / paths[0].name
    copy.mkdir()
    for file in model.iterdir():
        if file.name not in (WORKSHOP, LOCK):
            _link(file, copy / file.name)
    shutil.copystat(model, copy)
    directory_to_disk(copy)
    with signals.unbroken:
        if is_there:
            paths[-1].rename(workshop / paths[-1].name)
        for older, newer in pairwise(reversed(paths)):
            newer.rename(older)
        copy.rename(paths[0])
    directory_to_disk(paths[0].parent)


def _beyond(model: Path, most: int) -> list[Path]:
    return list(takewhile(os.path.lexists, (kept(model, number) for number in count(most + 1))))


def _link(file: Path, target: Path) -> None:
    """Link a file. Copy it if links are not supported; always copy the manifest, since `cp` changes it in place."""
    if file.name != loading.MANIFEST:
        with suppress(OSError):
            target.hardlink_to(file)
            return
    shutil.copy2(file, target)
    with target.open("rb") as copy:
        os.fsync(copy.fileno())


_ORIGIN_FORMAT, _ORIGIN_FORMAT_VERSION = "mpu training", 1
# Values for a data file, as it was named; no size and checksum if it was a stream, or changed meanwhile.
_OF_FILE = {"name": str, "bytes": int | None, "sha256": str | None}


@dataclass(frozen=True)
class Origin:
    """How a model was trained."""

    time: str  # Time of saving: ISO 8601, in UTC.
    instances: int
    annotated: list[int]  # Number of annotations of each label of the model.
    # Number of true labels, estimated from the annotations with the label frequency and reviewers' decisions.
    true: list[float]
    options: dict[str, Any]  # The options that differ from their defaults: JSON values.
    versions: dict[str, str]  # Versions of mpu, Python and the numerical packages.
    kernel: str  # The inner loops: "numpy" or "numba".
    source: str | None = None  # The data, as the user named them; None for arrays.
    files: list[dict[str, Any]] = field(default_factory=list)  # As in `_OF_FILE`, one for each file of the data.
    others: list[str] = field(default_factory=list)  # Other training files, each with its option.

    def written(self) -> bytes:
        """Return the content of the file; the reverse of `parse_origin`."""
        values = {"format": _ORIGIN_FORMAT, "format_version": _ORIGIN_FORMAT_VERSION, **asdict(self)}
        return (json.dumps({**values, "sha256": loading.digest(values)}) + "\n").encode()


def origin_of(model: loading.TrainedModel, path: Path) -> Origin | None:
    """Return how a model was trained; None if that is unknown, or damaged, which a warning says."""
    try:
        return None if model.origin is None else parse_origin(model.origin, len(model.label_ids))
    except ValueError as error:
        _log.warning(f"{path}: the record of its training is damaged ({error}), so it is left out")
        return None


def parse_origin(content: bytes, n_labels: int) -> Origin:
    """Parse and check the file of a model with `n_labels` labels.

    Raises ValueError (it is damaged, or has a newer version).
    """
    try:
        values = json_object(content)
        expect(values.pop("sha256") == loading.digest(values), "its checksum does not match its content")
        expect(values.pop("format") == _ORIGIN_FORMAT, "of another format")
        expect(values.pop("format_version") == _ORIGIN_FORMAT_VERSION, "of a newer version")
        expect(values.keys() == {f.name for f in fields(Origin)}, "other values are expected")
        for name, hint in get_type_hints(Origin).items():
            kind = get_origin(hint) if get_origin(hint) in (list, dict) else hint
            expect(isinstance(values[name], kind) and not isinstance(values[name], bool), f"{name} is of another type")
        for name, dtype in (("annotated", int), ("true", float)):
            expect(len(loading.number_list(values[name], name, dtype)) == n_labels, f"{name} is of another length")
        for file in values["files"]:
            expect(file.keys() == _OF_FILE.keys(), "a file has other values")
            expect(all(isinstance(file[name], kind) for name, kind in _OF_FILE.items()), "a file has other types")
        expect(all(isinstance(text, str) for text in (*values["others"], *values["versions"].values())), "no texts")
        return Origin(**values)
    except (KeyError, TypeError, AttributeError, OverflowError) as error:
        raise ValueError(f"{error} is missing" if isinstance(error, KeyError) else str(error)) from None


def described_files(source: Source, states: Sequence[State | None], others: Named) -> dict[str, Any]:
    """Return names, sizes and checksums of the data of a training, and other files by their options.

    `states`: of each data file before it was read; None if it is a stream, or read by other processes. Size and
    checksum are None if the state is None, or if the file has changed since.
    """
    files = []
    for file, state in zip(files_of(source), states, strict=True):
        size = sha256 = None
        with suppress(OSError, ValueError):
            if state is not None:
                found = checksum(Path(file).resolve())
                size, sha256 = (state[0], found) if state_of(file) == state else (None, None)
        files.append({"name": without_secrets(file), "bytes": size, "sha256": sha256})
    return {
        "source": without_secrets(str(source)),
        "files": files,
        "others": [without_secrets(f"{name.split()[0]} {path}") for name, path in each_named(others)],
    }


def training_record(
    instances: int, annotated: np.ndarray, true: np.ndarray, options: Any, run: Run, files: dict[str, Any]
) -> bytes:
    """Return the record of a training, as stored in a model.

    `annotated`, `true`: shape (q,): for each label, the number of annotated instances, and the estimated number of
    true ones. Options are as the user set them: `c` may be a Path. `files`: from `described_files`; empty for arrays.
    """
    chosen = {}
    for name, option in options_of(type(options)).items():
        value = getattr(options, name)
        if isinstance(value, np.ndarray):
            chosen[name] = value.tolist()
        elif value != option.default:
            chosen[name] = str(value) if isinstance(value, Path) else value
    if run.seed:
        chosen["seed"] = run.seed
    packages = ("numpy", "scipy", *(["numba"] if run.compiled else []))
    versions = {"mpu": __version__, "python": platform.python_version(), **{name: version(name) for name in packages}}
    kernel = "numba" if run.compiled else "numpy"
    return Origin(now(), instances, annotated.tolist(), true.tolist(), chosen, versions, kernel, **files).written()


def now() -> str:
    """Return the current time in UTC, or that of ``SOURCE_DATE_EPOCH`` (reproducible builds), in seconds since 1970."""
    time = os.environ.get("SOURCE_DATE_EPOCH")
    return (datetime.now(UTC) if time is None else datetime.fromtimestamp(int(time), UTC)).isoformat(timespec="seconds")
