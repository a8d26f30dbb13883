import copy
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from mpu_cli import bundle
from mpu_cli.core.data.predictions import Top
from mpu_cli.errors import ModelError
from tests.bundle.models import (
    LISTS,
    D,
    edit,
    level_arrays,
    make_model,
    make_model_in_strata,
    make_sparse_model,
    npz,
    put_bundle,
    same_directory,
)
from tests.golden import refused

NUMBERS = {
    **{"levels": 2, "scale": 0.3, "frequencies": None, "calibrations": [None, None], "top": None, "compact": False},
    "entries": [None, None],
}
WHOLE = {
    "predictor": NUMBERS
    | {"frequencies": [0.5, 1, 1], "calibrations": [None, {"predicted": [-1, 0.5], "actual": [0, 1]}], "entries": None}
}


def numbers(**changes) -> dict:
    return {"predictor": NUMBERS | changes}


def calibration(predicted=(0.0, 1.0), actual=(0.0, 1.0)) -> dict:
    return numbers(calibrations=[None, {"predicted": list(predicted), "actual": list(actual)}])


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
    "scale infinite": numbers(scale=float("inf")),
    "scale not a number": numbers(scale=float("nan")),
    "scale negative": numbers(scale=-0.3),
    "scale beyond float32": numbers(scale=1e300),
    "scale beyond float64": numbers(scale=10**400),
    "scale null": numbers(scale=None),
    "scale a text": numbers(scale="0.3"),
    "scale a truth": numbers(scale=True),
    "frequency a text": numbers(frequencies=["0.5", 1, 1]),
    "method a list": {"method": ["mpu"]},
    "scale missing": {"predictor": {"levels": 2, "frequencies": None, "calibrations": [None, None]}},
    "calibration missing": {"predictor": {"levels": 2, "scale": 0.3, "frequencies": None}},
    "calibration a list": numbers(calibrations=[[0.0], [1.0]]),
    "calibration without names": numbers(calibrations=[{}, None]),
    "calibrations null": numbers(calibrations=None),
    "calibrations of other levels": numbers(calibrations=[None]),
    "calibration of nothing": calibration((), ()),
    "calibration ragged": calibration((0.0, 1.0), (0.0,)),
    "calibration not ascending": calibration(actual=(1.0, 0.0)),
    "calibration of predictions not ascending": calibration((1.0, 0.0)),
    "calibration not a number": calibration((0.0, float("nan"))),
    "calibration infinite": calibration((0.0, float("inf"))),
    "calibration huge": calibration((0.0, 1e300)),
    "calibration beyond float64": calibration((0, 10**400)),
    "calibration a text": calibration(("0", "1")),
    "frequency zero": numbers(frequencies=[0, 1, 1]),
    "frequency zero in float32": numbers(frequencies=[1e-300, 1, 1]),
    "frequency above one": numbers(frequencies=[1.5, 1, 1]),
    "frequency not a number": numbers(frequencies=[float("nan"), 1, 1]),
    "fewer frequencies": numbers(frequencies=[1, 1]),
    "fewer levels": numbers(levels=1),
    "more levels": numbers(levels=10**12),
    "levels a float": numbers(levels=2.0),
    "levels a truth": numbers(levels=True),
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
    "no labels": {"labels": 0},
    "more labels": {"labels": 4},
    "labels negative": {"labels": -3},
    "labels a float": {"labels": 3.0},
    "labels a truth": {"labels": True},
    "labels a text": {"labels": "3"},
    "labels a list": {"labels": [0, 7, 9]},
    "labels null": {"labels": None},
    "labels beyond the file format": {"labels": 2**31},
    "labels huge": {"labels": 10**4000},
    "known features missing": {"features_known": ...},
    "known features null": {"features_known": None},
    "known features more": {"features_known": 3},
    "known features more than features": {"features_known": 5},
    "known features negative": {"features_known": -1},
    "known features a float": {"features_known": 2.0},
    "known features a list": {"features_known": [1, 2]},
    "arrays in the manifest": {"of_labels": LISTS},
    "frequencies where the largest are kept": numbers(frequencies=[0.5, 1, 1], top={"most": 2, "least": 0.1}),
    "top missing": {"predictor": {name: value for name, value in NUMBERS.items() if name != "top"}},
    "top a list": numbers(top=[2, 0.1]),
    "top without names": numbers(top={}),
    "top of none": numbers(top={"most": 0, "least": 0.1}),
    "top a float": numbers(top={"most": 2.0, "least": 0.1}),
    "top huge": numbers(top={"most": 10**30, "least": 0.1}),
    "top from zero": numbers(top={"most": 2, "least": 0}),
    "top from one": numbers(top={"most": 2, "least": 1}),
    "top from not a number": numbers(top={"most": 2, "least": float("nan")}),
    "top from beyond float64": numbers(top={"most": 2, "least": 10**400}),
    "top from a text": numbers(top={"most": 2, "least": "0.1"}),
    "compact missing": {"predictor": {name: value for name, value in NUMBERS.items() if name != "compact"}},
    "compact null": numbers(compact=None),
    "compact a number": numbers(compact=0),
    "compact where all features have weights": numbers(compact=True),
    "entries missing": {"predictor": {name: value for name, value in NUMBERS.items() if name != "entries"}},
    "frequencies a text": numbers(frequencies="all"),
    "frequencies in a file without": numbers(frequencies="level0"),
    "entries a number": numbers(entries=3),
    "entries of fewer levels": numbers(entries=[None]),
    "entries of more levels": numbers(entries=[None, None, None]),
    "entries of weights without": numbers(entries=[3, None]),
    "entries a float": numbers(entries=[None, 3.0]),
    "entries a truth": numbers(entries=[None, False]),
    "entries negative": numbers(entries=[None, -3]),
    "entries a text": numbers(entries="ab"),
}


@pytest.mark.parametrize("changes", DAMAGE.values(), ids=DAMAGE.keys())
def test_a_damaged_manifest_is_an_error_that_names_it(saved, changes):
    edit(saved, **changes)
    with refused(ModelError):
        bundle.load(saved)


def test_an_undamaged_edit_still_loads(saved):
    # Holds the cases above to their reason: the values that they leave alone are in order.
    edit(saved, **WHOLE)
    assert bundle.load(saved).predictor.frequencies.tolist() == [0.5, 1, 1]
    edit(saved, **numbers(top={"most": 2, "least": 0.1}))
    assert bundle.load(saved).predictor.top == Top(2, 0.1)


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
    with refused(ModelError, "news.mpu: "):
        bundle.load(saved)


def test_a_missing_key_is_named(saved):
    edit(saved, features_known=...)
    with refused(ModelError):
        bundle.load(saved)


def test_a_newer_format_is_an_error_that_says_so(saved):
    edit(saved, format_version=6, labels=...)
    with refused(ModelError):
        bundle.load(saved)


def test_no_model(path):
    with refused(ModelError):
        bundle.load(path)


@pytest.mark.parametrize("text", ["[]", "null", "3"])
def test_a_manifest_that_is_no_object_is_called_that(saved, text):
    (saved / "manifest.json").write_text(text)
    with refused(ModelError):
        bundle.load(saved)


@pytest.mark.parametrize("is_file", [True, False])
def test_something_else_than_a_model(path, is_file):
    if is_file:
        path.write_text("1 1:1\n")
    else:
        path.mkdir()
    with refused(ModelError):
        bundle.load(path)


def test_a_manifest_that_cannot_be_read(path):
    (path / "manifest.json").mkdir(parents=True)
    with refused(ModelError):
        bundle.load(path)


@pytest.mark.parametrize("number", [0, 1])
def test_a_missing_bundle_is_named(saved, number):
    file = next(saved.glob(f"level{number}-*"))
    file.unlink()
    with refused(ModelError):
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
    with refused(ModelError):
        bundle.load(saved)
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("number", [0, 1])
def test_a_flipped_bit_is_an_error_that_names_the_bundle(saved, number):
    file = next(saved.glob(f"level{number}-*"))
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    with refused(ModelError, f"{file.name}: "):
        bundle.load(saved)


def test_levels_in_the_wrong_order(saved):
    files = json.loads((saved / "manifest.json").read_text())["files"]
    edit(saved, files=files[::-1])
    with refused(ModelError):
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


@pytest.mark.parametrize("make", [make_model, make_sparse_model, make_model_in_strata])
@given(st.data())
@same_directory
def test_any_damage_to_a_bundle_is_refused_or_harmless_even_with_the_right_checksum(saved, make, data):
    bundle.save(make(), saved)
    text = (saved / "manifest.json").read_text()
    whole = npz(**level_arrays(0, make()))
    start = data.draw(st.integers(0, len(whole)))
    stop = data.draw(st.integers(start, min(len(whole), start + 8)))
    try:
        put_bundle(saved, 0, whole[:start] + data.draw(st.binary(max_size=8)) + whole[stop:])
        load_or_refuse(saved)
    finally:
        (saved / "manifest.json").write_text(text)
