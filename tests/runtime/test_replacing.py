"""A file that several write at once is that of one of them, whole, and nothing is left beside it."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from mpu_cli.runtime.files import replacing
from mpu_cli.svmlight.streams import open_output


def test_writers_of_the_same_file_do_not_disturb_each_other(tmp_path):
    path = tmp_path / "out"

    def write(number: int) -> None:
        for _ in range(100):
            with replacing(path) as file:
                file.write(b"%d\n" % number * 1000)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8)))
    assert len(set(path.read_bytes().splitlines())) == 1
    assert path.stat().st_size == 2000
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
