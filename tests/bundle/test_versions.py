"""Versions of a model: directories beside it, which appear and disappear as a whole."""

import errno
import os
from pathlib import Path

import pytest
from scipy.sparse import csr_array

from mpu_cli import bundle
from mpu_cli.bundle import Versions
from mpu_cli.errors import ModelError
from tests.bundle.models import assert_same, contents, make_model


@pytest.fixture
def versions(path):
    return Versions.of(path)


def test_versions_are_numbered_models(versions):
    assert versions.numbers() == []
    assert [versions.add(make_model(seed)) for seed in (1, 2)] == [1, 2]
    assert versions.add(make_model(3), after=7) == 8
    assert versions.numbers() == [1, 2, 8]
    for number, seed in ((1, 1), (2, 2), (8, 3)):
        assert_same(bundle.load(versions.path(number)), make_model(seed))


def test_the_same_model_is_the_same_version(versions):
    versions.add(make_model(1))
    versions.add(make_model(2))
    assert versions.add(make_model(1)) == 1
    assert versions.numbers() == [1, 2]
    assert sorted(entry.name for entry in versions.folder.iterdir()) == ["1", "2"]


def test_a_model_that_is_there_becomes_a_version_without_room_of_its_own(saved, versions):
    assert versions.number_of(saved) is None
    assert versions.add(saved) == 1
    assert versions.number_of(saved) == 1
    assert contents(versions.path(1)) == contents(saved)
    (arrays,) = saved.glob("level0-*.npz")
    assert arrays.samefile(versions.path(1) / arrays.name)
    bundle.save(make_model(1), saved)
    assert versions.number_of(saved) is None
    assert_same(bundle.load(versions.path(1)), make_model())


def test_a_version_is_put_in_the_place_of_a_model(saved, versions):
    number = versions.add(make_model(1))
    os.utime(saved, (1e9, 1e9))
    with bundle.writer(saved) as write:
        write(versions.path(number))
    assert contents(saved) == contents(versions.path(number))
    assert not (saved / bundle.MANIFEST).samefile(versions.path(number) / bundle.MANIFEST)
    assert saved.stat().st_mtime > 1e9  # for make
    with bundle.writer(saved) as write:
        write(versions.path(number))  # again: the same files
    assert contents(saved) == contents(versions.path(number))


def test_where_there_are_no_links_there_are_copies(saved, versions, monkeypatch):
    def link(*_):
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(Path, "hardlink_to", link)
    versions.add(saved)
    assert contents(versions.path(1)) == contents(saved)
    (arrays,) = saved.glob("level0-*.npz")
    assert not arrays.samefile(versions.path(1) / arrays.name)


def test_names_of_a_model_come_along(path, versions):
    from mpu_cli.names import LabelNames

    model = make_model()
    names = LabelNames.of({0: "a", 7: "b", 9: "c"})
    implies = csr_array(([True, True], ([0, 1], [2, 0])), shape=(len(model.label_ids),) * 2)
    kept = {"names": names, "packed_vectorizer": b"x", "implies": implies}
    named = bundle.TrainedModel(**{**vars(model), **kept})
    bundle.save(named, path)
    versions.add(path)
    assert contents(versions.path(1)) == contents(path)
    assert (bundle.load(versions.path(1)).implies != implies).nnz == 0


def test_removed_versions_are_gone_and_so_is_what_was_killed(versions):
    for seed in (1, 2, 3):
        versions.add(make_model(seed))
    (versions.folder / ".mpu-0123").mkdir()
    (versions.folder / ".mpu-0123" / "half").touch()
    versions.remove([1, 3])
    assert [entry.name for entry in versions.folder.iterdir()] == ["2"]


def test_only_numbers_are_versions(versions):
    versions.add(make_model(1))
    for name in ("01", "1.5", "x", "\u0662", "history.jsonl"):
        (versions.folder / name).mkdir()
    assert versions.numbers() == [1]


def test_links_to_a_model_lead_to_the_same_versions(saved, versions):
    saved.with_name("link").symlink_to(saved)
    assert Versions.of(saved.with_name("link")) == versions


def test_what_fails_leaves_nothing(path, versions, monkeypatch):
    def rename(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "rename", rename)
    with pytest.raises(ModelError, match=r"news\.mpu\.versions: cannot be written: No space left on device"):
        versions.add(make_model())
    assert not versions.folder.exists()


def test_the_lock_is_had_for_several_steps_also_where_the_model_was_moved(saved):
    with bundle.writer(saved) as write:
        saved.rename(saved.with_name("moved.mpu"))
        with write.held():
            write(make_model(1))
            with pytest.raises(bundle.writing.BusyError), bundle.writer(saved):
                pass
            write(make_model(2))
        with bundle.writer(saved):
            pass
    assert_same(bundle.load(saved), make_model(2))
    assert len(contents(saved)) == 3
