"""What workers can read by name."""

import os
from pathlib import Path

import pytest

from mpu_cli.cluster.reading import absolute
from mpu_cli.errors import InputError


def test_a_file_has_its_full_name_and_a_url_has_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert absolute("a b.svm") == str(tmp_path / "a b.svm")
    assert absolute("https://example.org/a.svm") == "https://example.org/a.svm"


@pytest.mark.parametrize("source", ["/dev/stdin", "/dev/fd/63", "/proc/self/fd/0", "/proc/17/fd/3"])
def test_a_stream_of_this_process_is_refused(source):
    with pytest.raises(InputError, match=f"^{source}: is a stream, which workers of a cluster cannot read"):
        absolute(source)


def test_a_pipe_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="is a stream"):
        absolute(str(tmp_path / "pipe"))
    assert absolute(str(tmp_path / "none.svm")) == str(tmp_path / "none.svm")
    assert absolute("/dev/shm/a.svm") == str(Path("/dev/shm/a.svm"))
