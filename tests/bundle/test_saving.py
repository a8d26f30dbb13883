import errno
import os
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from mpu_cli import bundle
from mpu_cli.bundle import loading
from mpu_cli.bundle.writing import check_target
from mpu_cli.core.features import Columns
from mpu_cli.core.linear_model import LinearModel
from mpu_cli.core.stacking import StackedModel
from mpu_cli.errors import ModelError
from tests.bundle.models import (
    TOP,
    assert_same,
    make_kernel_model,
    make_model,
    make_model_in_strata,
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


def test_another_model_takes_the_place_of_all_of_the_first(saved):
    bundle.save(make_model(1, levels=1), saved)
    assert_same(bundle.load(saved), make_model(1, levels=1))
    assert len(contents(saved)) == 2


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


# Failures while saving


def fail_in(monkeypatch, where: str, on_call: int, error: BaseException):
    """Let the given call of a function that `save` uses raise."""
    owner, name = {"savez": (np, "savez"), "fsync": (os, "fsync"), "replace": (Path, "replace")}[where]
    original = getattr(owner, name)
    calls = []

    def failing(*args, **kwargs):
        calls.append(args)
        if len(calls) == on_call:
            raise error
        return original(*args, **kwargs)

    monkeypatch.setattr(owner, name, failing)


FAILURES = [
    *[("savez", call) for call in (1, 2)],
    *[("fsync", call) for call in (1, 2, 3)],
    *[("replace", call) for call in (1, 2, 3)],
]


@pytest.mark.parametrize(("where", "on_call"), FAILURES)
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("exists", [True, False])
def test_a_failure_leaves_the_old_model_or_no_trace(path, monkeypatch, where, on_call, error, exists):
    if exists:
        bundle.save(make_model(), path)
    before = contents(path) if exists else {}
    fail_in(monkeypatch, where, on_call, error)
    with pytest.raises((ModelError, KeyboardInterrupt)):
        bundle.save(make_model(1), path)
    assert (contents(path) if exists else path.exists()) == (before if exists else False)


def test_a_directory_that_was_there_and_empty_stays(path, monkeypatch):
    path.mkdir()
    fail_in(monkeypatch, "savez", 2, OSError(errno.ENOSPC, "No space left on device"))
    with pytest.raises(ModelError):
        bundle.save(make_model(), path)
    # An empty directory was the user's; it must not be taken away, nor filled.
    assert contents(path) == {}


def test_what_a_killed_run_left_is_replaced(path):
    path.mkdir()
    (path / "level0-0123456789abcdef.npz").write_bytes(b"half")
    (path / ".training" / "copy").mkdir(parents=True)
    (path / ".training" / "copy" / "half").touch()
    (path / ".training" / "half").touch()
    check_target(path)
    bundle.save(make_model(), path)
    assert_same(bundle.load(path), make_model())
    assert len(contents(path)) == 3


@pytest.fixture
def replaced(saved, monkeypatch):
    """Replace the model by another as soon as its manifest has been read."""
    parse = loading.parse

    def parse_and_replace(*args):
        monkeypatch.setattr(loading, "parse", parse)
        manifest = parse(*args)
        bundle.save(make_model(1), saved)
        return manifest

    monkeypatch.setattr(loading, "parse", parse_and_replace)
    return saved


def test_a_model_replaced_while_it_is_read_is_read_again(replaced):
    assert_same(bundle.load(replaced), make_model(1))


# Places where no model can be written


def test_an_empty_name_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with refused(ModelError):
        bundle.save(make_model(), "")
    assert contents(tmp_path) == {}


def test_a_dangling_link_is_refused(path):
    path.symlink_to("nowhere")
    with refused(ModelError):
        check_target(path)


@pytest.mark.parametrize("name", ["notes.txt", "level0-0123456789abcdef.npz.bak", "manifest.json~", "LEVEL0.npz"])
def test_a_directory_with_other_files_is_refused_and_left_alone(saved, name):
    (saved / name).write_text("mine")
    before = contents(saved)
    with refused(ModelError, "news.mpu: "):
        bundle.save(make_model(1), saved)
    assert contents(saved) == before


@pytest.mark.parametrize("keep", [None, 1])
def test_a_manifest_without_end_is_not_read_into_memory(saved, keep):
    with (saved / "manifest.json").open("r+b") as file:
        file.truncate(1 << 29)  # takes no room on the disk
    with peak_below(1 << 28), bundle.Writer(saved).held() as write:
        write(make_model(1), keep)
    assert_same(bundle.load(saved), make_model(1))
