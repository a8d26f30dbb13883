"""Model directories that were made to do harm, or that were mixed up."""

import hashlib
import io
import json
import os
import shutil
import tracemalloc
import warnings
import zipfile
from contextlib import suppress

import numpy as np
import pytest
from scipy.sparse import csr_array

from mpu_cli import bundle
from mpu_cli.bundle import model_files
from mpu_cli.bundle.manifest import MOST_BYTES, digest
from mpu_cli.bundle.model_files import read_arrays
from mpu_cli.core.data.predictions import Top
from mpu_cli.core.model.stacking import LinearModel, StackedModel
from mpu_cli.errors import ModelError, TooLargeError
from tests.bundle.models import (
    KNOWN,
    LISTS,
    D,
    Q,
    assert_same,
    contents,
    edit,
    level_arrays,
    make_model,
    npy,
    npz,
    put_bundle,
)
from tests.golden import refused

MEGABYTE = 1 << 20


def archive(members: list[tuple[str, bytes]], compression=zipfile.ZIP_STORED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a name may be there twice
        for name, data in members:
            file.writestr(name, data)
    return out.getvalue()


def members(**changes: bytes) -> list[tuple[str, bytes]]:
    return [(f"{name}.npy", changes.get(name, npy(array))) for name, array in level_arrays(0).items()]


def claiming(header: str) -> bytes:
    """The header of an array with nothing after it."""
    text = header.ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


def weights(**changes) -> str:
    return str({"descr": "<f4", "fortran_order": False, "shape": (D, Q)} | changes)


HOSTILE = {
    "compressed": (archive(members(), zipfile.ZIP_DEFLATED), "is compressed"),
    "compressed by lzma": (archive(members(), zipfile.ZIP_LZMA), "is compressed"),
    "a name twice": (archive([*members()[:-1], members()[0]]), "other arrays"),
    "a name with a path": (archive([*members()[:-1], ("../known.npy", members()[-1][1])]), "other arrays"),
    "an array of terabytes": (archive(members(weights=claiming(weights(shape=(10**6, 10**6))))), "weights is"),
    "an array beyond 64 bits": (archive(members(weights=claiming(weights(shape=(10**30, 1))))), "weights is"),
    "an array of a negative size": (archive(members(weights=claiming(weights(shape=(-D, -Q))))), "weights is"),
    "an array that ends too early": (archive(members(weights=claiming(weights()))), "EOF"),
    "an array that goes on": (archive(members(weights=npy(level_arrays(0)["weights"]) + b"more")), "too long"),
    "objects": (archive(members(weights=claiming(weights(descr="|O")))), "weights is object"),
    "a header that is code": (archive(members(weights=claiming("__import__('os').abort()"))), "weights has no header"),
    "a header nested too deep": (archive(members(weights=claiming("(" * 100))), "weights has no header"),
    "a header of signs": (archive(members(weights=claiming("-" * 9000 + "1"))), "weights has no header"),
    "a header of sums": (archive(members(weights=claiming("1" + "+1" * 4000))), "weights has no header"),
    "a large file": (npz(**level_arrays(0)) + bytes(MEGABYTE), "bytes"),
}


@pytest.mark.parametrize(("data", "problem"), HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_file_is_refused_by_name(saved, data, problem):
    put_bundle(saved, 0, data)
    with pytest.raises(ModelError, match=rf"level0-[0-9a-f]{{16}}\.npz: is damaged \(.*{problem}"):
        bundle.load(saved)


@pytest.mark.parametrize("compression", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_zip_bomb_is_not_inflated(saved, compression):
    bomb = archive(members(weights=claiming(weights()) + bytes(64 * MEGABYTE)), compression)
    assert len(bomb) < MEGABYTE
    put_bundle(saved, 0, bomb)
    assert_refused_in_little_memory(lambda: bundle.load(saved))


def test_a_directory_of_countless_members_is_not_read(tmp_path):
    path = tmp_path / "level0-0123456789abcdef.npz"
    path.write_bytes(archive([(f"{i:0100}", b"") for i in range(8_000)]))
    layout = {"weights": (np.uint8, (path.stat().st_size - 1000,))}
    checksum = hashlib.sha256(path.read_bytes()).hexdigest()
    assert_refused_in_little_memory(lambda: read_arrays(path, checksum, layout))


@pytest.mark.parametrize(
    "changes",
    [
        {"features": 10**12},
        {"features": 2**31 - 1},
        {"features": 2**31 - 1, "features_known": 2**31 - 1},
        {"labels": 2**31 - 1},
    ],
    ids=repr,
)
def test_numbers_that_ask_for_much_memory_take_none(saved, changes):
    edit(saved, **changes)
    assert_refused_in_little_memory(lambda: bundle.load(saved))


def test_a_number_of_entries_that_asks_for_much_memory_takes_none(sparse):
    numbers = json.loads((sparse / "manifest.json").read_text())["predictor"]
    edit(sparse, predictor=numbers | {"entries": [10**12, 10**12]})
    assert_refused_in_little_memory(lambda: bundle.load(sparse))


@pytest.mark.parametrize("width", [2**24, 2**31 - 1])
def test_a_small_model_of_countless_features_takes_little_memory(sparse, width):
    edit(sparse, features=width)
    matrix = csr_array((np.ones(2, np.float32), [1, width - 1], [0, 2]), shape=(1, width))
    tracemalloc.start()
    try:
        model = bundle.load(sparse)
        assert model.count_unknown(matrix) == 1
        assert model.predictor.probabilities(matrix).shape == (1, Q)
        assert tracemalloc.get_traced_memory()[1] < 72 * MEGABYTE  # of 2^24 features there is a table
    finally:
        tracemalloc.stop()


def test_the_manifest_of_a_million_labels_is_small(path):
    q = 1_000_000
    weights = csr_array((np.ones(3, np.float32), [0, 5, q - 1], [0, 2, 3]), shape=(2, q))
    rising = np.linspace(0.1, 1, q)
    predictor = StackedModel(
        (LinearModel(weights, rising.astype(np.float32) - 20),),
        0.3,
        rising.astype(np.float32),
        top=Top(),
        columns=KNOWN,
    )
    model = bundle.TrainedModel("mpu", predictor, np.arange(q) * 2, rising, KNOWN, {})
    bundle.save(model, path)
    assert (path / "manifest.json").stat().st_size < 10_000
    assert_same(bundle.load(path), model)


def test_a_model_larger_than_the_free_memory_is_refused_before_it_is_read(saved, monkeypatch):
    monkeypatch.setattr(model_files, "available_memory", lambda: 20)
    with refused(TooLargeError):
        bundle.load(saved)


def assert_refused_in_little_memory(load):
    tracemalloc.start()
    try:
        with pytest.raises(ModelError, match="is damaged"):
            load()
        assert tracemalloc.get_traced_memory()[1] < 16 * MEGABYTE
    finally:
        tracemalloc.stop()


def test_a_huge_manifest_is_not_read(saved):
    os.truncate(saved / "manifest.json", MOST_BYTES + 1)
    with refused(ModelError):
        bundle.load(saved)


_SIZE = MEGABYTE // 8
_TEXT = "x" * _SIZE
LARGE_VALUES = {
    "a long text": _TEXT,
    "a text of four bytes a character in memory": "\U0001f426" + "x" * (_SIZE // 4),
    "a list with a long text": [_TEXT, 1, 1],
    "a long text at the end of many numbers": [*[0] * (_SIZE // 4), "x" * (_SIZE // 4)],
    "many texts": ["ab"] * (_SIZE // 6),
    "many lists": [[]] * (_SIZE // 4),
    "many named values": {f"{i:x}": 0 for i in range(_SIZE // 10)},
    "many small numbers": [0] * (_SIZE // 3),
    "many floats": [0.5] * (_SIZE // 5),
    "many floats that are longer than their text": [1e15] * (_SIZE // 20),
    "huge numbers": [10**4200] * (_SIZE // 4203),
}
FIELDS = (
    *("format", "format_version", "method", "kind", "options", "features", "labels", "predictor"),
    *("predictor.levels", "predictor.scale", "predictor.frequencies", "files", "files.file", "files.sha256"),
    *("predictor.calibrations", "predictor.top", "predictor.compact", "predictor.entries", "features_known"),
    *("kernel.gamma", "sha256", "levels", "one more", "format_2.labels", "format_2.c", "format_2.thresholds"),
)


def with_value(manifest: dict, field: str, value) -> dict:
    """Put a value in place of a field of a manifest; some fields are those of other kinds and versions."""
    name, _, inner = field.partition(".")
    if name == "files" and inner:
        return manifest | {"files": [manifest["files"][0] | {inner: value}, *manifest["files"][1:]]}
    if name == "kernel":
        numbers = {"gamma": 1, "support": 1, "entries": 1}
        return manifest | {"kind": name, "predictor": numbers | {inner: value}}
    if name == "format_2":
        return manifest | LISTS | {"format_version": 2, inner: value}
    if inner:
        return manifest | {name: manifest[name] | {inner: value}}
    if name == "levels":
        return manifest | LISTS | {"format_version": 1, "scale": 0.3, "levels": value}
    return manifest | {name: value}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        # Every field and every value, a few pairs of them; the others are slow.
        pytest.param(field, value, id=f"{field}-{name}", marks=[pytest.mark.slow] if (i - j) % 4 else [])
        for i, field in enumerate(FIELDS)
        for j, (name, value) in enumerate(LARGE_VALUES.items())
    ],
)
def test_a_manifest_takes_memory_of_the_order_of_its_size(saved, field, value):
    path = saved / "manifest.json"
    values = with_value(json.loads(path.read_text()), field, value)
    if field != "sha256":
        values.pop("sha256")
        values["sha256"] = digest(values)
    path.write_text(json.dumps(values, ensure_ascii=False, separators=(",", ":")))
    del values
    tracemalloc.start()
    try:
        with suppress(ModelError):  # a long text among the options is harmless
            bundle.load(saved)
        assert tracemalloc.get_traced_memory()[1] < 16 * path.stat().st_size + 2 * MEGABYTE
    finally:
        tracemalloc.stop()


def test_a_key_that_is_there_twice_is_refused(saved):
    text = (saved / "manifest.json").read_text()
    (saved / "manifest.json").write_text(text.replace('"labels"', '"features": 4,\n "labels"'))
    with refused(ModelError):
        bundle.load(saved)


def put_special(path, kind: str):
    """Put something that is no regular file in place of one."""
    data = path.read_bytes()
    path.unlink()
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "directory":
            path.mkdir()
        case "link to a device":
            path.symlink_to("/dev/zero")
        case "link to the same content":
            other = path.parent.parent / "elsewhere"
            other.write_bytes(data)
            path.symlink_to(other)
        case "dangling link":
            path.symlink_to("nowhere")


@pytest.mark.parametrize("pattern", ["manifest.json", "level0-*"])
@pytest.mark.parametrize("kind", ["pipe", "directory", "link to a device", "link to the same content", "dangling link"])
def test_what_is_not_a_regular_file_is_neither_followed_nor_waited_for(saved, pattern, kind):
    path = next(saved.glob(pattern))
    put_special(path, kind)
    with refused(ModelError):
        bundle.load(saved)


def test_a_file_of_another_model_is_refused(saved, tmp_path):
    bundle.save(make_model(1), tmp_path / "other.mpu")
    mine, other = (next(path.glob("level0-*")) for path in (saved, tmp_path / "other.mpu"))
    shutil.copy(other, mine)
    with refused(ModelError, f"{mine.name}: "):
        bundle.load(saved)


def test_a_manifest_of_another_model_is_refused(saved, tmp_path):
    bundle.save(make_model(1), tmp_path / "other.mpu")
    shutil.copy(tmp_path / "other.mpu" / "manifest.json", saved)
    with refused(ModelError, "news.mpu: "):
        bundle.load(saved)


def test_a_manifest_that_was_changed_is_refused(saved):
    text = (saved / "manifest.json").read_text()
    assert '"scale": 0.3,' in text
    (saved / "manifest.json").write_text(text.replace('"scale": 0.3,', '"scale": 0.4,'))
    with refused(ModelError):
        bundle.load(saved)


def flipped(data: bytes, step: int):
    """Turn a bit of the data, a place after another and each time another bit."""
    for place in range(0, len(data), step):
        changed = bytearray(data)
        changed[place] ^= 1 << place % 8
        yield bytes(changed)


def test_every_flipped_bit_is_refused_or_changes_nothing(saved, assert_predicts_as_before):
    for name, data in contents(saved).items():
        for changed in flipped(data, step=1 if name == "manifest.json" else 7):
            (saved / name).write_bytes(changed)
            assert_predicts_as_before()
        (saved / name).write_bytes(data)


@pytest.mark.parametrize("name", ["manifest.json", "level0", "level1"])
def test_every_cut_is_refused(saved, name):
    path = next(saved.glob(f"{name}*"))
    data = path.read_bytes()
    for length in range(0, len(data) - 1, 5):  # without its last newline a manifest is whole
        path.write_bytes(data[:length])
        with refused(ModelError):
            bundle.load(saved)


@pytest.fixture
def assert_predicts_as_before(saved):
    """Give a function that loads the model: it must be refused, or predict what it did before."""
    from scipy.sparse import random_array

    matrix = random_array((5, D), density=0.6, format="csr", dtype=np.float32, rng=0)
    before = bundle.load(saved).predictor.probabilities(matrix)

    def check():
        try:
            model = bundle.load(saved)
        except ModelError as error:
            assert "news.mpu" in str(error)
        else:
            np.testing.assert_array_equal(model.predictor.probabilities(matrix), before, strict=True)
            assert model.label_ids.tolist() == make_model().label_ids.tolist()
            np.testing.assert_array_equal(model.predictor.thresholds, make_model().predictor.thresholds)

    return check
