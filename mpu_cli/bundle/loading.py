"""A trained model, and how to load it: the manifest, then the files that it names, which may be untrusted.

docs/model-format.md defines the files. Before memory is allocated, the size of an array file and the name, dtype, shape
and position of each array are compared with the manifest. Nothing is inflated or unpickled, and no array is larger than
its file.
"""

import hashlib
import io
import json
import math
import os
import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.calibration import AnyCalibration, Calibration, StratifiedCalibration
from mpu_cli.core.features import Columns, RbfFeatures
from mpu_cli.core.linear_model import LinearModel
from mpu_cli.core.predictions import Top
from mpu_cli.core.stacking import StackedModel
from mpu_cli.errors import ModelError, MpuError, TooLargeError
from mpu_cli.names.label_names import NAMELESS, LabelNames
from mpu_cli.runtime.files import expect, json_object, open_regular
from mpu_cli.runtime.run import available_memory
from mpu_cli.svmlight.grammar import MAX_ID

FORMAT, FORMAT_VERSION = "mpu model", 1
MANIFEST = "manifest.json"
MOST_BYTES = 1 << 25
# Values for each label, in the first file.
OF_LABELS: dict[str, type] = {"labels": np.int64, "c": np.float64, "thresholds": np.float32}
# Replaces the option c in a manifest if each label has its own c, in the array `c`.
C_OF_LABELS = "labels"
ARRAYS_NAME = re.compile(r"(level\d+|kernel)-[0-9a-f]{16}\.npz")
# Names of optional files: the label names, the vectoriser, and the labels that imply others.
OTHER_NAMES = {
    "names": re.compile(r"labels-[0-9a-f]{16}\.txt"),
    "vectorizer": re.compile(r"vectorizer-[0-9a-f]{16}\.bin"),
    "implied": re.compile(r"implied-[0-9a-f]{16}\.npz"),
}
ORIGIN_NAME = re.compile(r"training-[0-9a-f]{16}\.json")
# The dtype and shape of each array in a file.
Layout = dict[str, tuple[type, tuple[int, ...]]]
Parts = dict[str, dict[str, np.ndarray]]

# Arrays of a calibration, and the largest absolute value in them.
LOG_ODDS = ("predicted", "actual")
_LARGEST_LOG_ODDS = 1e4
KERNEL = "kernel"
_LEAST_DEVIATION, _LARGEST_FACTOR = 1e-60, 1e30
OF_KERNEL = ("mean", "deviation", "landmarks", "normalization")


@dataclass(frozen=True)
class TrainedModel:
    """A predictor of q labels with everything needed to predict files."""

    predictor: StackedModel
    label_ids: np.ndarray  # int64, shape (q,): the label, as written in files, of each column
    c: np.ndarray  # float64, shape (q,): label frequencies used in training
    occurring: Columns  # the features that occurred in training
    options: dict[str, Any]  # options and estimates of the training, for the record; JSON values
    names: LabelNames = NAMELESS  # of these labels, if they have names
    packed_vectorizer: bytes | None = None  # the vectoriser of texts, if any, in the format of `mpu_cli.text.stored`
    implies: csr_array | None = None  # bool, shape (q, q): whether the row's label implies the column's label
    origin: bytes | None = None  # how it was trained (see `mpu_cli.bundle.writing`); not used for predictions
    # Of a model that was read: `version_of` its manifest, and the names of all files that this names
    version: str = ""
    files: tuple[str, ...] = ()

    def shown_labels(self, numbers: bool = False) -> np.ndarray:
        """Return the label names; the label numbers if `numbers` is true or the model has no names."""
        if numbers or not self.names:
            return self.label_ids
        return np.array([self.names.shown(number) for number in self.label_ids.tolist()], object)


def digest(values: dict[str, Any]) -> str:
    """Return the checksum of a manifest's values."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def parse(path: Path, text: bytes) -> dict[str, Any]:
    """Return the values in the manifest of a model, which are checked; the path is used in messages.

    Raises ModelError (it is damaged, or has another format version).
    """
    with refusing_damage(f"{path}: manifest.json"):
        values = json_object(text)
        version = values["format_version"]
        expect(values["format"] == FORMAT and type(version) is int and version >= 1, "of another format")
        if version > FORMAT_VERSION:
            raise ModelError(
                f"{path}: is of model format {version}, and this mpu reads {FORMAT_VERSION}; train the model again, or "
                "install the mpu that wrote it"
            )
        expect(values.pop("sha256") == digest(values), "its checksum does not match its content")
        are_named = isinstance(values["predictor"], dict) and isinstance(values["options"], dict)
        expect(are_named, "numbers or options are not named")
        expect(type(values["files"]) is list and bool(values["files"]), "no files")
        named = [(entry, ARRAYS_NAME) for entry in values["files"]]
        named += [(values[kind], pattern) for kind, pattern in OTHER_NAMES.items() if kind in values]
        for entry, pattern in named:
            name, checksum = entry["file"], entry["sha256"]
            expect(type(name) is str and type(checksum) is str, "a file's name or checksum is not a text")
            expect(bool(pattern.fullmatch(name)), f"no file can be named {name[:80]!r}")
        if "implied" in values:
            whole(values["implied"]["pairs"])
        expect(whole(values["features"]) <= MAX_ID + 1, "features out of range")
        expect(whole(values["labels"], 1) <= MAX_ID + 1, "labels out of range")
        expect(whole(values["features_known"]) <= values["features"], "known features out of range")
        return values


def version_of(manifest: bytes) -> str:
    """Return a short name of the model with this manifest: the first 16 digits of its checksum."""
    return hashlib.sha256(manifest).hexdigest()[:16]


def origin_name(manifest: bytes) -> str:
    """Return the name of the file that records how a manifest's model was trained (`writing.Origin`)."""
    return f"training-{version_of(manifest)}.json"


@contextmanager
def refusing_damage(named: str) -> Iterator[None]:
    """Turn exceptions from what a damaged model contains, which are of many types, into a ModelError that names it.

    FileNotFoundError, MemoryError and errors of `mpu` are unchanged.
    """
    try:
        yield
    except (FileNotFoundError, MemoryError, MpuError):
        raise
    except OSError as error:
        raise ModelError(f"{named} cannot be read: {error.strerror or error}") from error
    except Exception as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        shown = reason if reason.isprintable() else repr(reason)  # it may quote bytes of the file
        raise ModelError(f"{named} is damaged ({shown}); copy or train the model again") from error


def manifest_of(model: Path) -> bytes | None:
    """Return a model's manifest, which is equal for equal models; None if it is missing or cannot be read."""
    with suppress(OSError, ValueError):
        return read_small(model / MANIFEST)
    return None


def read_small(path: Path) -> bytes:
    """Read a regular file of at most `MOST_BYTES`; ValueError if it is larger; other errors as for `open_regular`."""
    with open_regular(path) as file:
        if os.fstat(file.fileno()).st_size > MOST_BYTES:
            raise ValueError(f"it has more than {MOST_BYTES:,} bytes")
        return file.read()


def load(path: str | os.PathLike[str]) -> TrainedModel:
    """Load a model, possibly from an untrusted source, and check every part of it.

    Raises ModelError (the model is missing, damaged, or was written by a newer version).
    """
    path = Path(path)
    while True:
        text = _manifest_text(path)
        manifest = parse(path, text)
        origin = None
        with suppress(OSError, ValueError):  # predictions do not need it
            origin = read_small(path / origin_name(text))
        try:
            entries = [*manifest["files"], *(manifest[kind] for kind in OTHER_NAMES if kind in manifest)]
            files = tuple(entry["file"] for entry in entries)
            return replace(_load(path, manifest), origin=origin, version=version_of(text), files=files)
        except FileNotFoundError as error:
            missing = Path(error.filename)
            if manifest_of(path) == text and not missing.exists():  # otherwise the model has been replaced since
                raise ModelError(f"{path}: {missing.name} is missing; copy or train the model again") from error


def _manifest_text(path: Path) -> bytes:
    try:
        return read_small(path / MANIFEST)
    except (FileNotFoundError, NotADirectoryError):
        if path.is_file():
            raise ModelError(f"{path}: is a file, not a model; a model is a directory, made by mpu train") from None
        reason = "is not a model (it has no manifest.json)" if path.exists() else "there is no such model"
        raise ModelError(f"{path}: {reason}; make one with mpu train") from None
    except (OSError, ValueError) as error:
        problem = error.strerror if isinstance(error, OSError) else error
        raise ModelError(f"{path}: manifest.json cannot be read: {problem}") from error


def _load(path: Path, manifest: dict[str, Any]) -> TrainedModel:
    D, q, n_known = (manifest[count] for count in ("features", "labels", "features_known"))
    first: Layout = {"known": (np.int32, (n_known,)), **{name: (dtype, (q,)) for name, dtype in OF_LABELS.items()}}
    parts: Parts = {}
    with refusing_damage(f"{path}:"):
        expected = layouts(manifest["predictor"], n_known, D, q)
        for (part, layout), entry in zip(expected, manifest["files"], strict=True):
            expect(entry["file"].startswith(f"{part}-"), f"{entry['file']} cannot be {part}")
            parts[part] = _arrays(path, entry, layout | ({} if parts else first))
        arrays = next(iter(parts.values()))
        labels, c, thresholds, known = (arrays[name] for name in (*OF_LABELS, "known"))
        for name, ids, end in (("labels", labels, MAX_ID + 1), ("known features", known, D)):
            expect(bool(np.all(ids[1:] > ids[:-1])), f"{name} out of order")  # differences might overflow
            expect(bool(np.all((ids >= 0) & (ids < end))), f"{name} out of range")
        expect(bool(np.all((c > 0) & (c <= 1))), "label frequencies out of range")
        expect(bool(np.all((thresholds >= 0) & (thresholds <= 1))), "thresholds out of range")
        occurring = Columns(known, D)
        restored = predictor(manifest["predictor"], parts, occurring, thresholds)
        names = NAMELESS
        if "names" in manifest:  # they are parsed on first use
            names = LabelNames(_content(path, manifest["names"]), str(path / manifest["names"]["file"]))
        vectorizer = _content(path, manifest["vectorizer"]) if "vectorizer" in manifest else None
        implies = None
        if "implied" in manifest:
            layout = dict.fromkeys(("narrower", "broader"), (np.int32, (manifest["implied"]["pairs"],)))
            places = tuple(_arrays(path, manifest["implied"], layout).values())
            in_range = all(bool(np.all((columns >= 0) & (columns < q))) for columns in places)
            expect(in_range, "implied labels out of range")
            implies = csr_array((np.ones(len(places[0]), bool), places), shape=(q, q))
    options = manifest["options"] | ({"c": c.tolist()} if manifest["options"].get("c") == C_OF_LABELS else {})
    return TrainedModel(restored, labels, c, occurring, options, names, vectorizer, implies)


# Bytes for headers and directory in an .npz, for each array; NumPy uses about 400.
_OVERHEAD = 4096
_LONGEST_HEADER = 512  # for one array


@contextmanager
def _opened(folder: Path, entry: dict[str, Any]) -> Iterator[io.FileIO]:
    """Open a file that a manifest names, and check its SHA-256; turn errors while it is open into errors that name it.

    Raises FileNotFoundError, ModelError (the file is damaged, or cannot be read), TooLargeError (it exceeds the free
    memory).
    """
    path = folder / entry["file"]
    with refusing_damage(f"{path}:"), open_regular(path) as file:
        if (size := os.fstat(file.fileno()).st_size) > (free := available_memory()):
            raise TooLargeError(f"{path}: takes {size / 1e9:,.1f} GB of memory, and {free / 1e9:,.1f} GB are free")
        same = hashlib.file_digest(file, "sha256").hexdigest() == entry["sha256"]
        expect(same, "its checksum differs from the one in the manifest")
        file.seek(0)
        yield file


def _content(folder: Path, entry: dict[str, Any]) -> bytes:
    with _opened(folder, entry) as file:
        return file.readall()


def _arrays(folder: Path, entry: dict[str, Any], layout: Layout) -> dict[str, np.ndarray]:
    """Read the arrays in a file, which must be finite and have the dtypes and shapes in the layout."""
    with _opened(folder, entry) as file:
        data = sum(np.dtype(dtype).itemsize * math.prod(shape) for dtype, shape in layout.values())
        size = os.fstat(file.fileno()).st_size
        expect(data < size <= data + _OVERHEAD * len(layout), f"it has {size:,} bytes, for {data:,} of arrays")
        with zipfile.ZipFile(file) as archive:
            members = [member.filename for member in archive.infolist()]
            expect(sorted(members) == sorted(f"{array}.npy" for array in layout), "it contains other arrays")
            return {array: _read_array(archive, array, *form) for array, form in layout.items()}


def _read_array(archive: zipfile.ZipFile, name: str, dtype: type, shape: tuple[int, ...]) -> np.ndarray:
    """Return an array from an archive, if its header has this dtype and shape."""
    member = archive.getinfo(f"{name}.npy")
    expect(member.compress_type == zipfile.ZIP_STORED, f"{name} is compressed")
    kind, sizes = np.dtype(dtype).str, re.escape(str(shape))
    described = f"{{'descr': {kind!r}, 'fortran_order': (?:True|False), 'shape': {sizes}, }}"
    with archive.open(member) as file:
        beginning = file.read(_LONGEST_HEADER)
        fits = re.match(rb"\x93NUMPY\x01\x00.." + described.encode() + rb" *\n", beginning, re.DOTALL)
        expect(fits is not None, f"{name} is not {np.dtype(dtype)} {shape}")
        file.seek(0)
        array = np.lib.format.read_array(file, allow_pickle=False)
        expect(not file.read(1), f"{name} is too long")
    expect(bool(np.isfinite(array).all()), f"{name} is not finite")
    return array


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


def layouts(numbers: dict[str, Any], n_known: int, D: int, q: int) -> Iterator[tuple[str, Layout]]:
    """Yield the name and layout of each part of a model of q labels; `n_known` of D features occurred in training."""
    n_levels, entries, kernel = whole(numbers["levels"], 1), numbers["entries"], numbers["kernel"]
    for name in ("entries", "calibrations"):
        are_listed = type(numbers[name]) is list and len(numbers[name]) == n_levels
        expect(are_listed, f"{name} are not a list with one item for each level")
    expect(type(numbers["compact"]) is bool, "compact is not true or false")
    m = 0 if kernel is None else whole(kernel["landmarks"], 1)
    width = m or (n_known if numbers["compact"] else D)
    for i in range(n_levels):
        layout: Layout = {"bias": (np.float32, (q,))}
        if i == 0 and type(numbers["calibrations"][-1]) is list:  # the calibration of each stratum
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
        yield KERNEL, dict(zip(OF_KERNEL, shapes, strict=True))


def predictor(numbers: dict[str, Any], parts: Parts, occurring: Columns, thresholds: np.ndarray) -> StackedModel:
    """Restore the predictor; ValueError if the numbers and arrays are not valid."""
    scale = _real(numbers["scale"])
    expect(0 <= scale <= float(np.finfo(np.float32).max), "scale out of range")
    kernel = None if numbers["kernel"] is None else _kernel(_real(numbers["kernel"]["gamma"]), parts.pop(KERNEL))
    expect(kernel is None or not numbers["compact"], "a kernel has all of its features")
    levels = tuple(
        LinearModel(part["weights"] if "weights" in part else _sparse(part, len(thresholds)), part["bias"])
        for part in parts.values()
    )
    top = None
    if numbers["top"] is not None:
        top = Top(whole(numbers["top"]["most"], 1), _real(numbers["top"]["least"]))
        expect(top.most <= MAX_ID + 1 and 0 < top.least < 1, "top out of range")
    *lower, last = numbers["calibrations"]
    calibrations: list[AnyCalibration | None] = [*map(_calibration, lower)]
    if "strata" in parts["level0"]:
        strata, n_strata = parts["level0"]["strata"], len(last)
        maps = tuple(of for of in map(_calibration, last) if of is not None)
        expect(len(maps) == n_strata and bool(np.isin(strata, np.arange(n_strata)).all()), "strata out of range")
        calibrations.append(StratifiedCalibration(maps, strata))
    else:
        calibrations.append(_calibration(last))
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
    expect(bool(indptr[0] == 0 and indptr[-1] == len(data) and (indptr[1:] >= indptr[:-1]).all()), "entries of no row")
    expect(bool(indices.min(initial=0) >= 0 and indices.max(initial=0) < n_columns), "entries of no column")
    if len(data) < 2**31:
        indptr = indptr.astype(np.int32)  # otherwise SciPy would copy the indices as 64-bit numbers
    matrix = csr_array((data, indices, indptr), shape=(len(indptr) - 1, n_columns))
    expect(matrix.has_canonical_format, "entries of a row out of order")
    return matrix


def _calibration(values: dict[str, Any] | None) -> Calibration | None:
    if values is None:
        return None
    predicted, actual = (number_list(values[name], name, np.float64) for name in LOG_ODDS)
    expect(0 < len(predicted) == len(actual), "lists of unequal length")
    for log_odds in (predicted, actual):
        expect(bool(np.all(np.abs(log_odds) <= _LARGEST_LOG_ODDS)), "calibration out of range")
        expect(bool(np.all(np.diff(log_odds) >= 0)), "calibration out of order")
    return Calibration(predicted, actual)
