"""Models that were replaced: complete directories beside the one in use."""

import errno
import os
from pathlib import Path

import pytest
from scipy.sparse import csr_array

from mpu_cli import bundle
from mpu_cli.bundle.writing import kept
from mpu_cli.errors import BusyError
from mpu_cli.names.label_names import LabelNames
from tests.bundle.models import assert_same, make_model
from tests.folders import contents, names


def replace(path: Path, seed: int, keep: int = 3) -> None:
    with bundle.Writer(path).held() as writer:
        writer.save(make_model(seed), keep)


@pytest.fixture
def three(path) -> Path:
    """A model after three trainings."""
    for seed in (1, 2, 3):
        replace(path, seed)
    return path


def seeds(path: Path) -> list[int]:
    """What each model beside a path was made of, by name: that in use comes first, then the newest."""
    return [bundle.load(found).options["seed"] for found in sorted(path.parent.iterdir())]


def test_kept_models_share_all_files_but_the_manifest(path):
    model = make_model()
    names = LabelNames.of({0: "a", 7: "b", 9: "c"})
    implies = csr_array(([True, True], ([0, 1], [2, 0])), shape=(len(model.label_ids),) * 2)
    bundle.save(bundle.TrainedModel(**{**vars(model), "names": names, "implies": implies, "origin": b"{}"}), path)
    before, time = contents(path), path.stat().st_mtime_ns
    (arrays,) = path.glob("level0-*.npz")
    with arrays.open("rb") as of_before, (path / "manifest.json").open("rb") as manifest:
        replace(path, 1)
        (arrays,) = kept(path, 1).glob("level0-*.npz")
        assert os.path.samestat(os.fstat(of_before.fileno()), arrays.stat())
        assert not os.path.samestat(os.fstat(manifest.fileno()), (kept(path, 1) / "manifest.json").stat())
    assert (contents(kept(path, 1)), kept(path, 1).stat().st_mtime_ns) == (before, time)


def test_links_to_a_model_lead_to_the_same_models(saved):
    link = saved.with_name("link")
    link.symlink_to(saved)
    replace(link, 1)
    assert (names(saved.parent), seeds(saved)) == ({"link", "news.mpu", "news.mpu.1"}, [1, 1, 0])


def test_a_model_that_only_its_owner_may_read_stays_so(saved):
    saved.chmod(0o700)
    for file in saved.iterdir():
        file.chmod(0o600)
    replace(saved, 1)
    for path in (saved, kept(saved, 1)):
        assert path.stat().st_mode & 0o777 == 0o700
        assert {file.stat().st_mode & 0o777 for file in path.iterdir()} == {0o600}


def test_what_cannot_be_removed_is_named_and_the_rest_is_removed(three, monkeypatch, caplog):
    def rename(self, target, rename=Path.rename):
        if self.name == "news.mpu.2":  # that of another account
            raise PermissionError(errno.EACCES, "Permission denied")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", rename)
    monkeypatch.chdir(three.parent)
    replace(Path(three.name), 4, 0)
    assert (names(three.parent), seeds(three)) == ({"news.mpu", "news.mpu.2"}, [4, 1])
    (warning,) = caplog.messages
    assert warning.startswith("news.mpu.2: cannot be removed")


def test_the_lock_is_had_for_several_steps_also_where_the_model_was_moved(saved):
    with bundle.Writer(saved).held() as writer:
        saved.rename(saved.with_name("moved.mpu"))
        with writer.held():
            writer.save(make_model(1))
            with pytest.raises(BusyError), bundle.Writer(saved).held():
                pass
            writer.save(make_model(2))
        with bundle.Writer(saved).held():
            pass
    assert_same(bundle.load(saved), make_model(2))
    assert len(contents(saved)) == 3
