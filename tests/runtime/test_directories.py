"""Directories that are replaced as a whole."""

import os
import signal
import subprocess
import sys
import time

import pytest

from mpu_cli.runtime.files import replacing_directory
from tests.folders import names


def write(path, name) -> None:
    with replacing_directory(path) as (work, replace):
        (work / name).write_text(name)
        replace()


def test_the_new_one_takes_the_place_of_the_old_one(tmp_path):
    write(tmp_path / "a", "one")
    write(tmp_path / "a", "two")
    assert names(tmp_path) == {"a"}
    assert names(tmp_path / "a") == {"two"}


def test_the_old_one_stays_where_it_fails(tmp_path):
    write(tmp_path / "a", "one")
    with pytest.raises(ZeroDivisionError), replacing_directory(tmp_path / "a") as (work, _):
        (work / "two").write_text("")
        1 / 0  # noqa: B018
    with replacing_directory(tmp_path / "a"):
        assert names(tmp_path / "a") == {"one"}
    assert names(tmp_path) == {"a"}
    assert names(tmp_path / "a") == {"one"}


def test_the_one_of_a_living_process_is_left_alone(tmp_path):
    with replacing_directory(tmp_path / "a") as (work, replace):
        (work / "one").write_text("")
        write(tmp_path / "a", "two")
        assert names(tmp_path / "a") == {"two"}
        replace()
    assert names(tmp_path) == {"a"}
    assert names(tmp_path / "a") == {"one"}


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_the_next_run_removes_what_a_killed_one_has_left(tmp_path, number):
    code = (
        "import sys, time; from pathlib import Path; from mpu_cli.runtime import signals;"
        "from mpu_cli.runtime.files import replacing_directory; signals.watch()\n"
        "with replacing_directory(Path(sys.argv[1])) as (work, _):\n"
        "    (work / 'half').write_text('')\n    time.sleep(60)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "a")], stderr=subprocess.DEVNULL)
    while not any(path.name == "half" for path in tmp_path.rglob("*")):
        assert process.poll() is None
        time.sleep(0.01)
    os.kill(process.pid, number)
    process.wait()
    assert bool(names(tmp_path)) == (number == signal.SIGKILL)
    write(tmp_path / "a", "one")
    assert names(tmp_path) == {"a"}


@pytest.fixture
def leftover(tmp_path):
    """What an unfinished directory may be called: anybody can find out how its name begins."""
    with replacing_directory(tmp_path / "a"):
        (folder,) = tmp_path.glob(".mpu-*")
    return folder.with_name(folder.name[:-16] + "0" * 16)


def test_a_link_in_place_of_a_leftover_is_not_followed(tmp_path, leftover):
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "notes").touch()
    leftover.symlink_to(victim)
    write(tmp_path / "a", "one")
    assert names(victim) == {"notes"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
def test_a_leftover_of_another_user_is_left_alone(tmp_path, leftover):
    leftover.mkdir()
    (leftover / "theirs").touch()
    os.chown(leftover, 12345, 12345)
    write(tmp_path / "a", "one")
    assert names(leftover) == {"theirs"}


def test_an_unfinished_directory_is_for_its_owner_alone(tmp_path):
    with replacing_directory(tmp_path / "a") as (work, replace):
        (folder,) = tmp_path.iterdir()
        assert folder.stat().st_mode & 0o777 == 0o700
        (work / "file").touch()
        replace()
    mask = os.umask(0)
    os.umask(mask)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o777 & ~mask
