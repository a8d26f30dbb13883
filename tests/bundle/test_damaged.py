"""Models that are damaged, mixed up, or made to do harm."""

import copy
import json
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from mpu_cli import bundle
from mpu_cli.bundle import loading
from mpu_cli.bundle.loading import digest
from mpu_cli.core.predictions import Top
from mpu_cli.errors import ModelError, TooLargeError
from tests.bundle.corpus import replay
from tests.bundle.damages import DAMAGES, MEGABYTE, NUMBERS, put_sparse
from tests.bundle.models import Q, assert_same, edit, level_arrays, make_model, make_sparse_model, npz, put_bundle
from tests.golden import refused
from tests.hypotheses import examples
from tests.memory import peak_below
from tests.slow import slow


@pytest.mark.parametrize(("make", "damage"), DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_model_is_refused_by_name_in_little_memory(path, make, damage):
    bundle.save(make(), path)
    damage(path)
    with peak_below(16 * MEGABYTE), refused(ModelError, "news.mpu"):
        bundle.load(path)


def test_undamaged_changes_load(saved, tmp_path):
    """The cases above are refused for their reason: what they leave alone is in order."""
    edit(saved, predictor=NUMBERS)
    assert bundle.load(saved).predictor.calibrations == (None, None)
    edit(saved, predictor=NUMBERS | {"top": {"most": 2, "least": 0.1}})
    assert bundle.load(saved).predictor.top == Top(2, 0.1)
    bundle.save(make_model(), saved)
    put_bundle(saved, 0, npz(**level_arrays()))
    assert_same(bundle.load(saved), make_model())
    bundle.save(make_sparse_model(), tmp_path / "sparse.mpu")
    put_sparse(tmp_path / "sparse.mpu")
    assert bundle.load(tmp_path / "sparse.mpu").predictor.levels[1].weights.sum() == 6


class Touch:
    """Makes a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_nothing_is_unpickled(saved, tmp_path):
    evil = np.array([Touch(tmp_path / "made")], object)
    put_bundle(saved, 0, npz(**level_arrays() | {"bias": evil}))
    with refused(ModelError, "news.mpu/level0-"):
        bundle.load(saved)
    assert not (tmp_path / "made").exists()


def test_a_model_too_large_for_memory_is_not_called_damaged(saved, monkeypatch):
    def no_memory(*args, **kwargs):
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(np.lib.format, "read_array", no_memory)
        with pytest.raises(MemoryError):
            bundle.load(saved)
    monkeypatch.setattr(loading, "available_memory", lambda: 20)
    with refused(TooLargeError):  # before it is read
        bundle.load(saved)


@given(st.binary(max_size=200))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=examples(150))
def test_any_damage_is_refused_or_harmless(tmp_path, data):
    """To the text of the manifest, to its values or to files of arrays, with the right checksums or without."""
    replay(data, tmp_path)


def places(value, path=()) -> list[tuple]:
    """List where a value could be, in another one of JSON."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, inner in items for place in [(*path, key), *places(inner, (*path, key))]]


@pytest.mark.parametrize("width", [2**24, 2**31 - 1])
def test_a_small_model_of_countless_features_takes_little_memory(path, width):
    bundle.save(make_sparse_model(), path)
    edit(path, features=width)
    matrix = csr_array((np.ones(2, np.float32), [1, width - 1], [0, 2]), shape=(1, width))
    with peak_below(72 * MEGABYTE):  # of 2^24 features there is a table
        model = bundle.load(path)
        assert model.occurring.counts(matrix).sum() == 1
        assert model.predictor.probabilities(matrix).shape == (1, Q)


_SIZE = MEGABYTE // 8
_TEXT = "x" * _SIZE
LARGE_VALUES = {
    "a long text": _TEXT,
    "a text of four bytes a character in memory": "\U0001f426" + "x" * (_SIZE // 4),
    "many lists": [[]] * (_SIZE // 4),
    "many named values": {f"{i:x}": 0 for i in range(_SIZE // 10)},
    "many small numbers": [0] * (_SIZE // 3),
    "many floats that are longer than their text": [1e15] * (_SIZE // 20),
    "huge numbers": [10**4200] * (_SIZE // 4203),
}
MANY = "many lists", "many named values", "many small numbers"


@pytest.mark.parametrize("name", [*(name for name in LARGE_VALUES if name not in MANY), *slow(*MANY)])
def test_a_manifest_takes_memory_of_the_order_of_its_size(saved, name):
    """Whatever field has the value."""
    path = saved / "manifest.json"
    whole = json.loads(path.read_text())
    fields = places(whole)
    for *outer, last in [*fields[:: 1 + len(fields) // 4], ("one more",), ("sha256",), ("predictor", "frequencies")]:
        values = copy.deepcopy(whole)
        inner = values
        for key in outer:
            inner = inner[key]
        inner[last] = LARGE_VALUES[name]
        if last != "sha256":
            values.pop("sha256")
            values["sha256"] = digest(values)
        path.write_text(json.dumps(values, ensure_ascii=False, separators=(",", ":")))
        del values, inner
        # A long text among the options is harmless.
        with peak_below(16 * path.stat().st_size + 2 * MEGABYTE), suppress(ModelError):
            bundle.load(saved)
