"""Which cluster is meant, and what its workers can read by name."""

import os
from pathlib import Path

import pytest

from mpu_cli.cluster import Address
from mpu_cli.cluster.reading import absolute
from mpu_cli.errors import InputError


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("local", Address()),
        ("local:3", Address(workers=3)),
        ("local:3:2", Address(workers=3, threads=2)),
        ("tcp://scheduler:8786", Address(scheduler="tcp://scheduler:8786")),
        ("tls://10.0.0.1:8786", Address(scheduler="tls://10.0.0.1:8786")),
        ("run/scheduler.json", Address(file=Path("run/scheduler.json"))),
    ],
)
def test_a_cluster_is_named_in_four_ways(text, meant):
    assert Address.parse(text) == meant
    assert meant.is_local == text.startswith("local")


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
