"""What can be wrong with a model on disk: each of `DAMAGES` is a model, and what is done to it after it was saved."""

import io
import json
import os
import pickle
import shutil
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from mpu_cli import bundle
from mpu_cli.bundle.loading import MOST_BYTES
from tests.bundle.models import (
    D,
    Q,
    edit,
    level_arrays,
    make_model,
    make_model_in_strata,
    make_named_model,
    make_sparse_model,
    npy,
    npz,
    put_bundle,
)

Damage = Callable[[Path], object]
NUMBERS = {"levels": 2, "scale": 0.3, "calibrations": [None, None], "top": None, "compact": False}
NUMBERS |= {"entries": [None, None], "kernel": None}
MEGABYTE = 1 << 20


def _numbers(**changes) -> dict:
    return {"predictor": NUMBERS | changes}


def _calibration(predicted=(0.0, 1.0), actual=(0.0, 1.0)) -> dict:
    return _numbers(calibrations=[None, {"predicted": list(predicted), "actual": list(actual)}])


# Manifests that say something else; values of other types are for `test_any_damage_is_refused_or_harmless`.
VALUES = {
    "other format": {"format": "another model"},
    "an option infinite": {"options": {"cost": float("inf")}},
    "scale negative": _numbers(scale=-0.3),
    "scale beyond float32": _numbers(scale=1e300),
    "calibrations of other levels": _numbers(calibrations=[None]),
    "calibration of nothing": _calibration((), ()),
    "calibration ragged": _calibration((0.0, 1.0), (0.0,)),
    "calibration not ascending": _calibration(actual=(1.0, 0.0)),
    "calibration of predictions not ascending": _calibration((1.0, 0.0)),
    "calibration huge": _calibration((0.0, 1e300)),
    "a kernel without arrays": _numbers(kernel={"gamma": 0.5, "landmarks": 2}),
    "a kernel of no landmarks": _numbers(kernel={"gamma": 0.5, "landmarks": 0}),
    "more levels": _numbers(levels=10**12),
    "features negative": {"features": -4},
    "features beyond the file format": {"features": 2**31},
    "no files": {"files": []},
    "file above": {"files": [{"file": "../level0-0123456789abcdef.npz", "sha256": "0"}]},
    "file without checksum": {"files": [{"file": "level0-0123456789abcdef.npz"}]},
    "no labels": {"labels": 0},
    "more labels": {"labels": 4},
    "labels beyond the file format": {"labels": 2**31},
    "known features more": {"features_known": 3},
    "known features more than features": {"features_known": 5},
    "top of none": _numbers(top={"most": 0, "least": 0.1}),
    "top huge": _numbers(top={"most": 10**30, "least": 0.1}),
    "top from zero": _numbers(top={"most": 2, "least": 0}),
    "compact where all features have weights": _numbers(compact=True),
    "entries of fewer levels": _numbers(entries=[None]),
    "entries negative": _numbers(entries=[None, -3]),
    **{f"{key} missing": {key: ...} for key in ("features", "features_known", "labels", "files", "format_version")},
    **{f"{key} missing": {key: ...} for key in ("predictor", "options")},
    **{f"{key} missing": {"predictor": {k: v for k, v in NUMBERS.items() if k != key}} for key in NUMBERS},
}
TEXTS = {"no JSON": b"not json", "no UTF-8": b"\xff\xfe", "a list": b"[]", "nested": b"[" * 100_000}


def _changed(name: str, value, model: bundle.TrainedModel | None = None) -> bytes:
    arrays = level_arrays(model)
    return npz(**arrays | {name: np.array(value, arrays[name].dtype)})


def _archive(members: list[tuple[str, bytes]], compression=zipfile.ZIP_STORED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a name may be there twice
        for name, data in members:
            file.writestr(name, data)
    return out.getvalue()


def _members(**changes: bytes) -> list[tuple[str, bytes]]:
    return [(f"{name}.npy", changes.get(name, npy(array))) for name, array in level_arrays().items()]


def _header(text: str | None = None, **changes) -> bytes:
    """Return the header of an array of weights, with nothing after it."""
    text = str({"descr": "<f4", "fortran_order": False, "shape": (D, Q)} | changes) if text is None else text
    text = text.ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


def _files() -> Iterator[tuple[str, bytes | Callable[[], bytes]]]:
    """Yield files of level 0 whose checksums are right; of what takes a while, what makes it."""
    whole = level_arrays()
    weights = whole["weights"]
    yield "weights missing", npz(**{name: array for name, array in whole.items() if name != "weights"})
    yield "weights too long", _changed("weights", np.concatenate([weights, weights[:1]]))
    yield "weights of single bytes", npz(**whole | {"weights": weights.astype(np.int8)})
    yield "an array more", npz(**whole, more=np.zeros(1))
    yield "weights not a number", _changed("weights", np.full_like(weights, np.nan))
    yield "bias infinite", _changed("bias", [np.inf, 0, 0])
    for c in ([0, 1, 1], [1.5, 1, 1]):
        yield f"c of {c}", _changed("c", c)
    for thresholds in ([np.nan, 1, 1], [-0.5, 0.5, 0.5], [0.5, 0.5, 1.5]):
        yield f"thresholds of {thresholds}", _changed("thresholds", thresholds)
    for labels in ([0, 7, 7], [-1, 7, 9], [0, 7, 2**31 - 1], [0, 2**63 - 1, -(2**63)]):
        yield f"labels of {labels}", _changed("labels", labels)
    for known in ([1, 1], [-1, 2], [1, 4], [2**31 - 1, -(2**31)]):
        yield f"known of {known}", _changed("known", known)
    yield "a pickle", pickle.dumps(whole)
    yield "an empty file", b""
    yield "compressed", _archive(_members(), zipfile.ZIP_DEFLATED)
    for compression in (zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA):
        yield (
            f"a bomb by {compression}",
            lambda compression=compression: _archive(_members(weights=_header() + bytes(32 * MEGABYTE)), compression),
        )
    yield "a name twice", _archive([*_members()[:-1], _members()[0]])
    yield "a name with a path", _archive([*_members()[:-1], ("../known.npy", _members()[-1][1])])
    yield "countless members", lambda: _archive([(f"{i:0100}", b"") for i in range(8_000)])
    for shape in ((10**30, 1), (-D, -Q)):
        yield f"an array of shape {shape}", _archive(_members(weights=_header(shape=shape)))
    yield "an array that ends too early", _archive(_members(weights=_header()))
    yield "an array that goes on", _archive(_members(weights=npy(weights) + b"more"))
    yield "a header of objects", _archive(_members(weights=_header(descr="|O")))
    yield "a header of code", _archive(_members(weights=_header("__import__('os').abort()")))


# Weights in a sparse matrix: level 1, of shape (2 + Q, Q), with these columns in its rows.
WEIGHTS = {"data": [1.0] * 6, "indices": [0, 2, 0, 1, 2, 1], "indptr": [0, 2, 5, 5, 6, 6]}
TYPES = {"data": np.float32, "indices": np.int32, "indptr": np.int64}
SPARSE = {
    "a label beyond": {"indices": [0, Q, 0, 1, 2, 1]},
    "a label twice in a row": {"indices": [0, 2, 0, 1, 1, 1]},
    "rows out of order": {"indptr": [0, 5, 2, 5, 6, 6]},
    "rows beyond the entries": {"indptr": [0, 2, 5, 5, 6, 7]},
    "rows that 32 bits bring back": {"indptr": [0, 2**32 + 2, 5, 5, 6, 6]},
    "entries of no row": {"indptr": [0, 2, 5, 5, 5, 5]},
    "a row more": {"indptr": [0, 2, 5, 5, 6, 6, 6]},
    "not a number": {"data": [1.0] * 5 + [np.nan]},
}


def put_sparse(path: Path, entries: object = 6, types: dict | None = None, **changes) -> None:
    """Put other sparse weights in place of those of level 1."""
    of_type = TYPES | (types or {})
    arrays = {name: np.array(value, of_type[name]) for name, value in (WEIGHTS | changes).items()}
    put_bundle(path, 1, npz(**arrays, bias=make_sparse_model().predictor.levels[1].bias))
    _change_numbers(path, lambda numbers: numbers | {"entries": [numbers["entries"][0], entries]})


def _change_numbers(path: Path, change: Callable[[dict], dict]) -> None:
    edit(path, predictor=change(json.loads((path / "manifest.json").read_text())["predictor"]))


def _without_a_map(numbers: dict) -> dict:
    numbers["calibrations"][-1][3] = None
    return numbers


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def _take_from_another(path: Path) -> None:
    other = path.with_name("other.mpu")
    bundle.save(make_model(1), other)
    shutil.copy(next(other.glob("level0-*")), next(path.glob("level0-*")))


def _link(path: Path, target: Path | str) -> None:
    if isinstance(target, Path):
        target.write_bytes(path.read_bytes())
    path.unlink()
    path.symlink_to(target)


SPECIAL = {
    "missing": Path.unlink,
    "a pipe": lambda path: (path.unlink(), os.mkfifo(path)),
    "a directory": lambda path: (path.unlink(), path.mkdir()),
    "a link to a device": lambda path: _link(path, "/dev/zero"),
    "a link to the same content": lambda path: _link(path, path.parent.parent / "elsewhere"),
    "with a bit changed": _flip,
}


# Of a file of names, and of its entry in the manifest.
NAMED = {"missing": Path.unlink, "a pipe": SPECIAL["a pipe"], "changed": lambda path: path.write_text("0\tother\n")}
ENTRIES = (None, {}, {"file": 3, "sha256": "0"}, {"file": "../labels-0123456789abcdef.txt", "sha256": "0"})


def _in_strata(strata: list[int]) -> Damage:
    return lambda path: put_bundle(path, 0, _changed("strata", strata, make_model_in_strata()))


def _with_text(old: str, new: str) -> Damage:
    def replace(path: Path) -> None:
        text = (path / "manifest.json").read_text()
        (path / "manifest.json").write_text(text.replace(old, new))

    return replace


_OF_DENSE: dict[str, Damage] = {
    **{name: lambda path, changes=changes: edit(path, **changes) for name, changes in VALUES.items()},
    **{
        f"a manifest, {name}": lambda path, text=text: (path / "manifest.json").write_bytes(text)
        for name, text in TEXTS.items()
    },
    **{
        f"level 0, {name}": lambda path, data=data: put_bundle(path, 0, data() if callable(data) else data)
        for name, data in _files()
    },
    **{
        f"{file}, {name}": lambda path, file=file, change=change: change(next(path.glob(file)))
        for file in ("manifest.json", "level0-*")
        for name, change in SPECIAL.items()
    },
    "levels in the wrong order": lambda path: edit(
        path, files=json.loads((path / "manifest.json").read_text())["files"][::-1]
    ),
    "a file of another model": _take_from_another,
    "a manifest changed by hand": _with_text('"scale": 0.3,', '"scale": 0.4,'),
    "a key twice": _with_text('"labels"', '"features": 4,\n "labels"'),
    "a huge manifest": lambda path: os.truncate(path / "manifest.json", MOST_BYTES + 1),
}
_OF_SPARSE: dict[str, Damage] = {
    **{name: lambda path, changes=changes: put_sparse(path, **changes) for name, changes in SPARSE.items()},
    "rows as int32": lambda path: put_sparse(path, types={"indptr": np.int32}),
    **{
        f"{entries} entries": lambda path, entries=entries: put_sparse(path, entries)
        for entries in (5, None, 10**12, -6, 6.0)
    },
    "dense weights": lambda path: put_bundle(
        path, 1, npz(weights=np.ones((2 + Q, Q), np.float32), bias=np.zeros(Q, np.float32))
    ),
    "weights of known features for those of all": lambda path: _change_numbers(path, lambda n: n | {"compact": False}),
}
_OF_STRATA: dict[str, Damage] = {
    **{f"strata {strata}": _in_strata(strata) for strata in ([-1, 0, 2], [0, 5, 2])},
    "a stratum without a map": lambda path: _change_numbers(path, _without_a_map),
}
_OF_NAMED: dict[str, Damage] = {
    **{
        f"names {name}": lambda path, change=change: change(next(path.glob("labels-*")))
        for name, change in NAMED.items()
    },
    **{f"names as {entry}": lambda path, entry=entry: edit(path, names=entry) for entry in ENTRIES},
}
DAMAGES: dict[str, tuple[Callable[[], bundle.TrainedModel], Damage]] = {
    **{name: (make_model, damage) for name, damage in _OF_DENSE.items()},
    **{f"sparse, {name}": (make_sparse_model, damage) for name, damage in _OF_SPARSE.items()},
    **{f"in strata, {name}": (make_model_in_strata, damage) for name, damage in _OF_STRATA.items()},
    **{f"named, {name}": (make_named_model, damage) for name, damage in _OF_NAMED.items()},
}
