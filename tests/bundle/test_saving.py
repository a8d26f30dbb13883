import errno
import hashlib
import itertools
import os
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from mpu_cli import bundle
from mpu_cli.bundle import loading
from mpu_cli.core.features import Columns
from mpu_cli.core.linear_model import LinearModel
from mpu_cli.core.stacking import StackedModel
from mpu_cli.errors import InputError, ModelError
from tests.bundle.models import (
    TOP,
    assert_same,
    edit,
    make_kernel_model,
    make_model,
    make_model_in_strata,
    make_named_model,
    make_sparse_model,
)
from tests.folders import contents
from tests.golden import refused
from tests.memory import peak_below


def without_features() -> bundle.TrainedModel:
    level = LinearModel(np.zeros((0, 1), np.float32), np.ones(1, np.float32))
    stacked = StackedModel((level,), 0.3, np.full(1, 0.5, np.float32))
    return bundle.TrainedModel(stacked, np.array([3]), np.ones(1), Columns(np.zeros(0, np.int32), 0), {})


SPARSE = [{"top": top, "compact": compact} for top in (None, TOP) for compact in (False, True)]
MODELS = {
    **{f"{levels} levels": make_model(levels=levels) for levels in (1, 2, 3)},
    **{f"sparse, {how}": make_sparse_model(**how) for how in SPARSE},
    "in strata": make_model_in_strata(),
    "of a kernel": make_kernel_model(),
    "without features": without_features(),
}


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_a_saved_model_loads_equal(path, model):
    bundle.save(model, path)
    assert_same(bundle.load(path), model)
    assert_same(bundle.load(str(path)), model)
    assert len(contents(path)) == len(model.predictor.levels) + 1 + (model.predictor.rbf is not None)


def test_a_named_model_loads_equal(path):
    bundle.save(make_named_model(), path)
    model = bundle.load(path)
    assert_same(model, make_model())
    assert model.names.by_number == make_named_model().names.by_number
    (file,) = path.glob("labels-*.txt")
    assert file.read_text() == "0\tnone\n7\tsports\tgames\n2147483646\t\n"


def test_names_are_not_parsed_before_they_are_asked_for(path):
    bundle.save(make_named_model(), path)
    text = b"7\tsports\nno number\n"
    checksum = hashlib.sha256(text).hexdigest()
    name = f"labels-{checksum[:16]}.txt"
    (file,) = path.glob("labels-*.txt")
    file.rename(path / name).write_bytes(text)
    edit(path, names={"file": name, "sha256": checksum})
    names = bundle.load(path).names
    with refused(InputError):
        names.written(7)


def test_what_there_is_for_each_label_is_not_in_the_manifest(path):
    """The option c is not: a manifest of 10^6 labels would take seconds to read."""
    q = 2000
    c = np.random.default_rng(0).uniform(0.1, 1, q)
    level = LinearModel(csr_array((1, q), dtype=np.float32), np.zeros(q, np.float32))
    predictor, options = StackedModel((level,), 0, np.full(q, 0.5, np.float32)), {"c": c.tolist(), "note": "é"}
    for rates in (c, np.ones(q)):  # of which the second says something else
        columns = Columns(np.zeros(1, np.int32), 1)
        bundle.save(bundle.TrainedModel(predictor, np.arange(q), rates, columns, options), path)
        assert bundle.load(path).options == options
    bundle.save(bundle.TrainedModel(predictor, np.arange(q), c, columns, options), path)
    assert (path / "manifest.json").stat().st_size < 2000


def fail_in(monkeypatch, owner: object, name: str, on_call: int, error: BaseException):
    """Let the given call of a function that `save` uses raise."""
    original, calls = getattr(owner, name), itertools.count(1)

    def failing(*args, **kwargs):
        if next(calls) == on_call:
            raise error
        return original(*args, **kwargs)

    monkeypatch.setattr(owner, name, failing)


CALLS = [(owner, name, call) for owner, name in ((np, "savez"), (os, "fsync"), (Path, "replace")) for call in (1, 2, 3)]


@pytest.mark.parametrize(("owner", "name", "on_call"), [call for call in CALLS if call != (np, "savez", 3)])
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("exists", [True, False])
def test_a_failure_leaves_the_old_model_or_no_trace(path, monkeypatch, owner, name, on_call, error, exists):
    if exists:
        bundle.save(make_model(), path)
    before = contents(path) if exists else {}
    fail_in(monkeypatch, owner, name, on_call, error)
    with pytest.raises((ModelError, KeyboardInterrupt)):
        bundle.save(make_model(1), path)
    assert (contents(path) if exists else path.exists()) == (before if exists else False)


def test_a_directory_that_was_there_and_empty_stays(path, monkeypatch):
    path.mkdir()
    fail_in(monkeypatch, np, "savez", 2, OSError(errno.ENOSPC, "No space left on device"))
    with pytest.raises(ModelError):
        bundle.save(make_model(), path)
    # An empty directory was the user's; it must not be taken away, nor filled.
    assert contents(path) == {}


def test_a_model_replaced_while_it_is_read_is_read_again(saved, monkeypatch):
    parse = loading.parse

    def parse_and_replace(*args):
        monkeypatch.setattr(loading, "parse", parse)
        manifest = parse(*args)
        bundle.save(make_model(1), saved)
        return manifest

    monkeypatch.setattr(loading, "parse", parse_and_replace)
    assert_same(bundle.load(saved), make_model(1))


def test_an_empty_name_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with refused(ModelError):
        bundle.save(make_model(), "")
    assert contents(tmp_path) == {}


@pytest.mark.parametrize("keep", [None, 1])
def test_a_manifest_without_end_is_not_read_into_memory(saved, keep):
    with (saved / "manifest.json").open("r+b") as file:
        file.truncate(1 << 29)  # takes no room on the disk
    with peak_below(1 << 28), bundle.Writer(saved).held() as writer:
        writer.save(make_model(1), keep)
    assert_same(bundle.load(saved), make_model(1))
