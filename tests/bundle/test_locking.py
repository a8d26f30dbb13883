"""One training at a time on a model directory, and nothing left of those that were killed."""

import errno
import fcntl
import itertools
import os
import signal
import socket
from contextlib import ExitStack, suppress
from pathlib import Path
from unittest.mock import Mock

import pytest

from mpu_cli import bundle
from mpu_cli.errors import BusyError, ModelError
from tests.bundle.models import assert_same, make_model
from tests.folders import contents
from tests.forked import PROCESSES
from tests.golden import refused
from tests.slow import slow


def hold(path, pipe):
    with bundle.Writer(path).held():
        pipe.send("held")
        pipe.recv()


def started(target, *args):
    """Start a process with one end of a pipe; return it, and the other end."""
    here, there = PROCESSES.Pipe()
    process = PROCESSES.Process(target=target, args=(*args, there))
    process.start()
    return process, here


@pytest.mark.parametrize("exists", [True, *slow(False)])
def test_another_training_is_refused_and_told_who_is_at_work(path, exists):
    if exists:
        bundle.save(make_model(), path)
    process, pipe = started(hold, path)
    assert pipe.recv() == "held"
    with refused(BusyError, "news.mpu: ") as error, bundle.Writer(path).held():
        pass
    assert f"process {process.pid} on {socket.gethostname()} since 20" in str(error.value)
    assert "\n" not in str(error.value)
    pipe.send("end")
    process.join()
    assert path.exists() == exists
    assert not (path / ".training").exists()


def test_a_lock_without_a_word_of_its_holder(path):
    with bundle.Writer(path).held():
        (path / ".lock").write_bytes(b"\x1b[2J\xff")
        with refused(BusyError), bundle.Writer(path).held():
            pass


@pytest.mark.parametrize("other", ["link", "news.mpu", "news.mpu/../news.mpu"])
def test_other_paths_to_the_same_directory_are_the_same_model(saved, monkeypatch, other):
    monkeypatch.chdir(saved.parent)
    saved.with_name("link").symlink_to(saved)
    with bundle.Writer(saved).held(), pytest.raises(BusyError), bundle.Writer(Path(other)).held():
        pass


def write_and_hang(path, steps, pipe):
    """Begin to save a model and stop in front of a step, counted in files that were replaced."""
    files, replace = itertools.count(), type(path).replace

    def stopping(self, target):
        if next(files) == steps:
            pipe.send("stopped")
            signal.pause()
        return replace(self, target)

    type(path).replace = stopping
    with bundle.Writer(path).held() as writer:
        writer.save(make_model(1))


@pytest.mark.parametrize(
    ("exists", "steps"), [(False, 0), (True, 2), *slow((False, 1), (False, 2), (True, 0), (True, 1))]
)
def test_what_a_killed_training_left_is_taken_over(path, exists, steps):
    if exists:
        bundle.save(make_model(), path)
        os.utime(path, (1e9, 1e9))
    process, pipe = started(write_and_hang, path, steps)
    assert pipe.recv() == "stopped"
    process.kill()
    process.join()
    if exists:
        assert_same(bundle.load(path), make_model())
    else:
        with refused(ModelError):
            bundle.load(path)
    bundle.save(make_model(2), path)
    assert_same(bundle.load(path), make_model(2))
    assert len(contents(path)) == 3


def test_a_training_that_fails_leaves_the_model_and_its_time(saved):
    """Otherwise `make` would take the directory for up to date."""
    os.utime(saved, (1e9, 1e9))
    before = contents(saved)
    with pytest.raises(ZeroDivisionError), bundle.Writer(saved).held():
        raise ZeroDivisionError
    assert (contents(saved), saved.stat().st_mtime) == (before, 1e9)


def test_a_model_that_is_not_there_yet_is_older_than_any_data(path):
    with bundle.Writer(path).held():
        assert path.stat().st_mtime == 0


def test_a_new_model_has_the_time_at_which_it_was_complete(saved):
    os.utime(saved, (1e9, 1e9))
    with bundle.Writer(saved).held() as writer:
        assert saved.stat().st_mtime == 1e9
        writer.save(make_model(1))
        complete = saved.stat().st_mtime
    assert saved.stat().st_mtime == complete > 1e9


@pytest.mark.parametrize("first_saves", [False, True])
def test_a_training_whose_directory_was_moved_leaves_that_of_another_alone(saved, first_saves):
    with ExitStack() as first:
        first_writer = first.enter_context(bundle.Writer(saved).held())
        saved.rename(saved.with_name("moved.mpu"))
        with bundle.Writer(saved).held() as writer:
            if first_saves:
                with refused(BusyError, "news.mpu: "):
                    first_writer.save(make_model(1))
            half_written = saved / ".training"
            half_written.mkdir()
            first.close()
            assert half_written.exists()
            with pytest.raises(BusyError), bundle.Writer(saved).held():
                pass
            writer.save(make_model(2))
    assert_same(bundle.load(saved), make_model(2))
    assert len(contents(saved)) == 3


def test_a_file_system_without_locks_can_hold_models(path, monkeypatch):
    monkeypatch.setattr(fcntl, "flock", Mock(side_effect=OSError(errno.ENOLCK, "No locks available")))
    bundle.save(make_model(), path)
    assert_same(bundle.load(path), make_model())


def take_turns(path, marker, turns):
    """Hold a directory again and again; a marker that is there already shows that somebody else has it too."""
    while turns:
        with suppress(BusyError), bundle.Writer(path).held():
            marker.touch(exist_ok=False)
            marker.unlink()
            turns -= 1


@pytest.mark.slow  # three processes
def test_many_trainings_that_fail_at_once_on_a_directory_that_comes_and_goes(path, tmp_path):
    workers = [PROCESSES.Process(target=take_turns, args=(path, tmp_path / "marker", 8)) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    assert not (path / ".training").exists()


@pytest.mark.parametrize("kind", ["file", "link"])
def test_a_workshop_that_is_no_directory_is_refused(saved, tmp_path, kind):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes").touch()
    if kind == "file":
        (saved / ".training").touch()
    else:
        (saved / ".training").symlink_to(tmp_path / "mine")
    with refused(ModelError):
        bundle.save(make_model(1), saved)
    assert (tmp_path / "mine" / "notes").exists()


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
@pytest.mark.parametrize("name", ["manifest.json", "level0-0123456789abcdef.npz"])
def test_a_pipe_or_directory_where_a_file_belongs_is_refused_and_not_waited_for(saved, name, make):
    (saved / name).unlink(missing_ok=True)
    make(saved / name)
    with refused(ModelError):
        bundle.save(make_model(1), saved)
