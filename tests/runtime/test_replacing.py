"""Files and directories that are replaced as a whole, and leave nothing beside them."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from mpu_cli.runtime.files import replacing, replacing_directory
from mpu_cli.svmlight.streams import open_output
from tests.folders import names


def test_writers_of_the_same_file_do_not_disturb_each_other(tmp_path):
    path = tmp_path / "out"

    def write(number: int) -> None:
        for _ in range(100):
            with replacing(path) as file:
                file.write(b"%d\n" % number * 1000)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8)))
    assert (len(set(path.read_bytes().splitlines())), path.stat().st_size) == (1, 2000)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o444])
def test_what_is_being_written_is_as_private_as_what_it_replaces(tmp_path, mode):
    path = tmp_path / "out"
    path.touch()
    path.chmod(mode)
    with replacing(path) as file:
        assert os.fstat(file.fileno()).st_mode & 0o077 & ~mode == 0
        file.write(b"new")
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"new", mode)


@pytest.mark.parametrize("mask, mode", [(0o022, 0o644), (0o077, 0o600)])
def test_a_new_file_is_as_private_as_the_umask_says(tmp_path, mask, mode):
    before = os.umask(mask)
    try:
        with replacing(tmp_path / "out") as file:
            assert os.fstat(file.fileno()).st_mode & 0o777 == mode
    finally:
        os.umask(before)
    assert (tmp_path / "out").stat().st_mode & 0o777 == mode


def test_a_pipe_by_its_descriptor_is_written(tmp_path):
    """As `-o >(command)` in a shell gives it."""
    reading, writing = os.pipe()
    with open_output(f"/dev/fd/{writing}") as file:
        file.write(b"new")
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        assert pipe.read() == b"new"


@pytest.mark.parametrize("to", ["a pipe", "a file"])
def test_standard_error_is_written(tmp_path, to):
    code = "from mpu_cli.svmlight.streams import *\nimport sys\nsys.stderr.write('a'); sys.stderr.flush()\n"
    code += "refuse_unwritable('/dev/stderr')\nwith open_output('/dev/stderr') as file: file.write(b'b')\n"
    code += "sys.stderr.write('c')"
    with (tmp_path / "err").open("wb") as err:
        done = subprocess.run([sys.executable, "-c", code], stderr=subprocess.PIPE if to == "a pipe" else err)
    said = done.stderr if to == "a pipe" else (tmp_path / "err").read_bytes()
    assert (done.returncode, said) == (0, b"abc")


def write(path, name) -> None:
    with replacing_directory(path) as work:
        (work / name).write_text(name)


def test_the_one_of_a_living_process_is_left_alone_and_takes_the_place_of_what_came_between(tmp_path):
    with replacing_directory(tmp_path / "a") as work:
        (work / "one").write_text("")
        write(tmp_path / "a", "two")
        assert names(tmp_path / "a") == {"two"}
    assert (names(tmp_path), names(tmp_path / "a")) == ({"a"}, {"one"})


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_the_next_run_removes_what_a_killed_one_has_left(tmp_path, number):
    code = (
        "import sys, time; from pathlib import Path; from mpu_cli.runtime import signals;"
        "from mpu_cli.runtime.files import replacing_directory; signals.watch()\n"
        "with replacing_directory(Path(sys.argv[1])) as work:\n"
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
    with replacing_directory(tmp_path / "a") as work:
        (folder,) = tmp_path.iterdir()
        assert folder.stat().st_mode & 0o777 == 0o700
        (work / "file").touch()
    mask = os.umask(0)
    os.umask(mask)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o777 & ~mask
