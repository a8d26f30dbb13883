import copy
import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from mpu_cli import bundle
from mpu_cli.errors import ModelError
from tests.bundle.models import (
    D,
    assert_same,
    edit,
    level_arrays,
    make_model,
    npy,
    npz,
    put_bundle,
    same_directory,
)

WHOLE = {
    "labels": [0, 7, 9],
    "c": [0.4, 1, 0.1],
    "thresholds": [0.5, 0.5, 0.5],
    "predictor": {
        "levels": 2,
        "scale": 0.3,
        "frequencies": [0.5, 1, 1],
        "calibration": {"predicted": [-1, 0.5], "actual": [0, 1]},
    },
}
NUMBERS = {"levels": 2, "scale": 0.3, "frequencies": None, "calibration": None}


def calibration(predicted=(0.0, 1.0), actual=(0.0, 1.0)) -> dict:
    return {"predictor": NUMBERS | {"calibration": {"predicted": list(predicted), "actual": list(actual)}}}


DAMAGE = {
    "features missing": {"features": ...},
    "labels missing": {"labels": ...},
    "files missing": {"files": ...},
    "method missing": {"method": ...},
    "kind missing": {"kind": ...},
    "predictor missing": {"predictor": ...},
    "another kind": {"kind": "forest"},
    "kind a list": {"kind": ["stacked"]},
    "kind of other parts": {"kind": "kernel", "predictor": {"gamma": 1, "support": 3, "entries": 3}},
    "options missing": {"options": ...},
    "version missing": {"format_version": ...},
    "other format": {"format": "another model"},
    "version is text": {"format_version": "1"},
    "version negative": {"format_version": -1},
    "version zero": {"format_version": 0},
    "version a truth": {"format_version": True},
    "version a float": {"format_version": 1.5},
    "version a whole float": {"format_version": 2.0},
    "version null": {"format_version": None},
    "fewer labels": {"labels": [0, 7]},
    "fewer c": {"c": [0.4, 1]},
    "fewer thresholds": {"thresholds": [0.5]},
    "no labels": {"labels": [], "c": [], "thresholds": []},
    "labels out of order": {"labels": [7, 0, 9]},
    "label twice": {"labels": [0, 7, 7]},
    "negative label": {"labels": [-1, 7, 9]},
    "label a float": {"labels": [0, 7.5, 9]},
    "label a text": {"labels": ["0", "7", "9"]},
    "label a truth": {"labels": [False, 7, 9]},
    "label huge": {"labels": [0, 7, 10**30]},
    "label a huge float": {"labels": [0, 7, 1e300]},
    "labels a number": {"labels": 3},
    "labels nested": {"labels": [[0], [7], [9]]},
    "labels ragged": {"labels": [0, [7], 9]},
    "labels null": {"labels": None},
    "c zero": {"c": [0, 1, 1]},
    "c above one": {"c": [1.5, 1, 1]},
    "c negative": {"c": [-1, 1, 1]},
    "c not a number": {"c": [float("nan"), 1, 1]},
    "c null": {"c": [None, 1, 1]},
    "c a text": {"c": ["0.5", 1, 1]},
    "c a truth": {"c": [True, 1, 1]},
    "c huge": {"c": [10**400, 1, 1]},
    "c one text": {"c": "0.5"},
    "threshold a text": {"thresholds": ["0.5", "0.5", "0.5"]},
    "threshold not a number": {"thresholds": [float("nan"), 0.5, 0.5]},
    "threshold infinite": {"thresholds": [float("inf"), 0.5, 0.5]},
    "threshold beyond float32": {"thresholds": [1e300, 0.5, 0.5]},
    "threshold above one": {"thresholds": [1.5, 0.5, 0.5]},
    "label beyond the file format": {"labels": [0, 7, 2**31 - 1]},
    "scale infinite": {"predictor": NUMBERS | {"scale": float("inf")}},
    "scale not a number": {"predictor": NUMBERS | {"scale": float("nan")}},
    "scale negative": {"predictor": NUMBERS | {"scale": -0.3}},
    "scale beyond float32": {"predictor": NUMBERS | {"scale": 1e300}},
    "scale beyond float64": {"predictor": NUMBERS | {"scale": 10**400}},
    "scale null": {"predictor": NUMBERS | {"scale": None}},
    "scale a text": {"predictor": NUMBERS | {"scale": "0.3"}},
    "scale a truth": {"predictor": NUMBERS | {"scale": True}},
    "frequency a text": {"predictor": NUMBERS | {"frequencies": ["0.5", 1, 1]}},
    "method a list": {"method": ["mpu"]},
    "scale missing": {"predictor": {"levels": 2, "frequencies": None, "calibration": None}},
    "calibration missing": {"predictor": {"levels": 2, "scale": 0.3, "frequencies": None}},
    "calibration a list": {"predictor": NUMBERS | {"calibration": [[0.0], [1.0]]}},
    "calibration without names": {"predictor": NUMBERS | {"calibration": {}}},
    "calibration of nothing": calibration((), ()),
    "calibration ragged": calibration((0.0, 1.0), (0.0,)),
    "calibration not ascending": calibration(actual=(1.0, 0.0)),
    "calibration of predictions not ascending": calibration((1.0, 0.0)),
    "calibration not a number": calibration((0.0, float("nan"))),
    "calibration infinite": calibration((0.0, float("inf"))),
    "calibration huge": calibration((0.0, 1e300)),
    "calibration beyond float64": calibration((0, 10**400)),
    "calibration a text": calibration(("0", "1")),
    "frequency zero": {"predictor": NUMBERS | {"frequencies": [0, 1, 1]}},
    "frequency zero in float32": {"predictor": NUMBERS | {"frequencies": [1e-300, 1, 1]}},
    "frequency above one": {"predictor": NUMBERS | {"frequencies": [1.5, 1, 1]}},
    "frequency not a number": {"predictor": NUMBERS | {"frequencies": [float("nan"), 1, 1]}},
    "fewer frequencies": {"predictor": NUMBERS | {"frequencies": [1, 1]}},
    "fewer levels": {"predictor": NUMBERS | {"levels": 1}},
    "more levels": {"predictor": NUMBERS | {"levels": 10**12}},
    "levels a float": {"predictor": NUMBERS | {"levels": 2.0}},
    "levels a truth": {"predictor": NUMBERS | {"levels": True}},
    "predictor a list": {"predictor": []},
    "features a float": {"features": 4.0},
    "features negative": {"features": -4},
    "features infinite": {"features": float("inf")},
    "features a list": {"features": [4]},
    "features beyond the file format": {"features": 2**31},
    "features huge": {"features": 10**4000},
    "no files": {"files": []},
    "files a number": {"files": 2},
    "files texts": {"files": ["level0"]},
    "options a list": {"options": [1]},
    "file above": {"files": [{"file": "../level0-0123456789abcdef.npz", "sha256": "0"}]},
    "file elsewhere": {"files": [{"file": "/etc/passwd", "sha256": "0"}]},
    "file of another name": {"files": [{"file": "manifest.json", "sha256": "0"}]},
    "file with a newline": {"files": [{"file": "level0-0123456789abcdef.npz\n", "sha256": "0"}]},
    "file a number": {"files": [{"file": 3, "sha256": "0"}]},
    "file without checksum": {"files": [{"file": "level0-0123456789abcdef.npz"}]},
    "file name of half a character": {"files": [{"file": "\ud800", "sha256": "0"}]},
}


@pytest.mark.parametrize("changes", DAMAGE.values(), ids=DAMAGE.keys())
def test_a_damaged_manifest_is_an_error_that_names_it(saved, changes):
    edit(saved, **changes)
    with pytest.raises(ModelError, match=r"news\.mpu: (manifest\.json )?is damaged .*; train the model again"):
        bundle.load(saved)


def test_an_undamaged_edit_still_loads(saved):
    # Holds the cases above to their reason: the values that they leave alone are in order.
    edit(saved, **WHOLE)
    assert bundle.load(saved).label_ids.tolist() == WHOLE["labels"]


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"not json",
        b"\xff\xfe",
        b"\xef\xbb\xbf{}",
        b"[]",
        b"3",
        b'"text"',
        b"null",
        b"{}",
        b"[" * 100_000,
        b'{"format": "mpu model", "format_version": ' + b"9" * 5000 + b"}",
    ],
    ids=lambda text: repr(text[:12]),
)
def test_a_manifest_of_other_bytes_is_an_error_that_names_it(saved, text):
    (saved / "manifest.json").write_bytes(text)
    with pytest.raises(ModelError, match=r"news\.mpu: manifest\.json is damaged"):
        bundle.load(saved)


def test_a_missing_key_is_named(saved):
    edit(saved, thresholds=...)
    with pytest.raises(ModelError, match="'thresholds' is missing"):
        bundle.load(saved)


def test_a_newer_format_is_an_error_that_says_so(saved):
    edit(saved, format_version=4, labels=...)
    with pytest.raises(ModelError, match=r"written by a newer mpu \(model format 4\)"):
        bundle.load(saved)


def test_no_model(path):
    with pytest.raises(ModelError, match="there is no such model"):
        bundle.load(path)


@pytest.mark.parametrize("is_file", [True, False])
def test_something_else_than_a_model(path, is_file):
    if is_file:
        path.write_text("1 1:1\n")
    else:
        path.mkdir()
    with pytest.raises(ModelError, match="is not a model"):
        bundle.load(path)


def test_a_manifest_that_cannot_be_read(path):
    (path / "manifest.json").mkdir(parents=True)
    with pytest.raises(ModelError, match=r"manifest\.json cannot be read: it is not a regular file"):
        bundle.load(path)


@pytest.mark.parametrize("number", [0, 1])
def test_a_missing_bundle_is_named(saved, number):
    file = next(saved.glob(f"level{number}-*"))
    file.unlink()
    with pytest.raises(ModelError, match=f"{file.name} is missing"):
        bundle.load(saved)


def damaged_bundles():
    whole = level_arrays(0)
    nan, infinite = whole["weights"].copy(), whole["bias"].copy()
    nan[1, 1], infinite[0] = np.nan, np.inf
    yield "extra array", npz(**whole, more=np.zeros(1))
    yield "array missing", npz(weights=whole["weights"], bias=whole["bias"])
    yield "wrong dtype", npz(**whole | {"weights": whole["weights"].astype(float)})
    yield "other byte order", npz(**whole | {"weights": whole["weights"].astype(">f4")})
    yield "wrong shape", npz(**whole | {"weights": whole["weights"].T})
    yield "known not bool", npz(**whole | {"known": np.zeros(D, np.int8)})
    yield "nan", npz(**whole | {"weights": nan})
    yield "infinite", npz(**whole | {"bias": infinite})
    yield "objects", npz(**whole | {"bias": np.array([1, "two", None], object)})
    yield "pickle", pickle.dumps(whole)
    yield "one array", npy(whole["weights"])
    yield "empty", b""
    yield "truncated", npz(**whole)[:-30]
    yield "text", b"1 1:1" * 50


@pytest.mark.parametrize("data", [pytest.param(data, id=name) for name, data in damaged_bundles()])
def test_a_bundle_of_other_content_is_an_error_that_names_it(saved, data):
    put_bundle(saved, 0, data)
    with pytest.raises(ModelError, match=r"level0-[0-9a-f]{16}\.npz: is damaged"):
        bundle.load(saved)


class Touch:
    """Makes a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_nothing_is_unpickled(saved, tmp_path):
    evil = np.array([Touch(tmp_path / "made")], object)
    put_bundle(saved, 0, npz(**level_arrays(0) | {"bias": evil}))
    with pytest.raises(ModelError, match="is damaged"):
        bundle.load(saved)
    assert not (tmp_path / "made").exists()


def test_a_bundle_put_in_unchanged_loads(saved):
    put_bundle(saved, 0, npz(**level_arrays(0)))
    assert_same(bundle.load(saved), make_model())


@pytest.mark.parametrize("number", [0, 1])
def test_a_flipped_bit_is_an_error_that_names_the_bundle(saved, number):
    file = next(saved.glob(f"level{number}-*"))
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    with pytest.raises(ModelError, match=rf"{file.name}: is damaged \(its checksum is not the manifest's\)"):
        bundle.load(saved)


def test_levels_in_the_wrong_order(saved):
    files = json.loads((saved / "manifest.json").read_text())["files"]
    edit(saved, files=files[::-1])
    with pytest.raises(ModelError, match=r"is damaged \(level1-[0-9a-f]{16}\.npz cannot be level0\)"):
        bundle.load(saved)


def test_a_model_too_large_for_memory_is_not_called_damaged(saved, monkeypatch):
    def no_memory(*args, **kwargs):
        raise MemoryError

    monkeypatch.setattr(np.lib.format, "read_array", no_memory)
    with pytest.raises(MemoryError):
        bundle.load(saved)


def load_or_refuse(path):
    """Load a model that may be damaged: an error a user can read, or one that is sound."""
    try:
        model = bundle.load(path)
    except ModelError as error:
        assert "news.mpu" in str(error)
        return
    assert np.isfinite(model.predictor.probabilities(csr_array(np.ones((1, D), np.float32)))).all()
    assert ((model.c > 0) & (model.c <= 1)).all()


@given(st.data())
@same_directory
def test_any_damage_to_the_text_of_the_manifest_is_refused_or_harmless(saved, data):
    text = saved.joinpath("manifest.json").read_bytes()
    start = data.draw(st.integers(0, len(text)))
    stop = data.draw(st.integers(start, min(len(text), start + 8)))
    try:
        (saved / "manifest.json").write_bytes(text[:start] + data.draw(st.binary(max_size=6)) + text[stop:])
        load_or_refuse(saved)
    finally:
        (saved / "manifest.json").write_bytes(text)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.data(), JSON_VALUES)
@same_directory
def test_any_value_in_the_manifest_is_refused_or_harmless(saved, data, value):
    text = (saved / "manifest.json").read_text()
    manifest = json.loads(text)
    changed = copy.deepcopy(manifest)
    key = data.draw(st.sampled_from(sorted(manifest)))
    place = data.draw(st.sampled_from(range(-1, len(manifest[key]) if isinstance(manifest[key], list) else 0)))
    if place < 0:
        changed[key] = value
    else:
        changed[key][place] = value
    try:
        edit(saved, **changed)
        load_or_refuse(saved)
    finally:
        (saved / "manifest.json").write_text(text)


@given(st.data())
@same_directory
def test_any_damage_to_a_bundle_is_refused_or_harmless_even_with_the_right_checksum(saved, data):
    text = (saved / "manifest.json").read_text()
    whole = npz(**level_arrays(0))
    start = data.draw(st.integers(0, len(whole)))
    stop = data.draw(st.integers(start, min(len(whole), start + 8)))
    try:
        put_bundle(saved, 0, whole[:start] + data.draw(st.binary(max_size=8)) + whole[stop:])
        load_or_refuse(saved)
    finally:
        (saved / "manifest.json").write_text(text)
