"""Resumed downloads, from a local server that breaks off, changes its mind, or does not know byte ranges."""

import random
import socket

import pytest

from tests.golden import refused


@pytest.fixture
def download(script):
    return script("download")


@pytest.fixture
def part(download, tmp_path):
    return download.Partial(tmp_path / "file")


@pytest.fixture(autouse=True)
def content(server) -> bytes:
    server.content = random.Random(0).randbytes(300_000)
    return server.content


def fetch(download, server, part) -> bytes:
    download.download(server.url + "file", part, pause=0)
    return part.path.read_bytes()


def ranges(server) -> list[str | None]:
    return [headers.get("Range") for headers in server.requests]


def other(content: bytes) -> bytes:
    return bytes(byte ^ 255 for byte in content) + b"more"


def test_whole_file_in_one_go(download, server, part, content):
    assert fetch(download, server, part) == content
    assert ranges(server) == [None]
    part.keep()
    assert [path.name for path in part.target.parent.iterdir()] == ["file"]


@pytest.mark.parametrize("version", [{"ETag": '"a"'}, {"Last-Modified": "Thu, 01 Jan 2009 00:00:00 GMT"}])
def test_broken_connection_is_resumed_where_it_broke(download, server, part, content, version, capsys):
    server.version = version
    server.faults.extend(["cut", "cut"])
    assert fetch(download, server, part) == content
    assert ranges(server) == [None, "bytes=150000-", "bytes=225000-"]
    assert "ended after 150,000 of 300,000 bytes; trying again" in capsys.readouterr().err


@pytest.mark.parametrize("version", [{}, {"ETag": 'W/"weak"'}])
def test_without_a_version_it_starts_again(download, server, part, content, version):
    server.version = version
    server.faults.append("cut")
    assert fetch(download, server, part) == content
    assert ranges(server) == [None, None]


def test_server_that_ignores_ranges(download, server, part, content):
    server.ranges = False
    server.faults.append("cut")
    assert fetch(download, server, part) == content
    assert ranges(server) == [None, "bytes=150000-"]


@pytest.mark.parametrize("ignores_if_range", [False, True])
def test_file_that_changes_in_between(download, server, part, content, ignores_if_range):
    def change():
        server.content, server.version = other(content), {"ETag": '"second"'}

    server.ignores_if_range = ignores_if_range
    server.on_cut = change
    server.faults.append("cut")
    assert fetch(download, server, part) == other(content)


def test_answer_with_another_range_is_not_used(download, server, part, content):
    server.faults.extend(["cut", "wrong range"])
    assert fetch(download, server, part) == content
    assert ranges(server) == [None, "bytes=150000-", None]


@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_passing_errors_are_tried_again(download, server, part, content, status):
    server.faults.extend([status] * 4)
    assert fetch(download, server, part) == content


@pytest.mark.parametrize("status", [403, 404, 410, 416])
def test_final_errors_are_not(download, server, part, status):
    server.faults.append(status)
    with refused(download.FetchError, "/file: "):
        fetch(download, server, part)
    assert len(server.requests) == 1


def test_gives_up_but_keeps_what_it_has(download, server, part, content):
    server.faults.extend(["cut"] * 5)
    with refused(download.FetchError):
        fetch(download, server, part)
    assert len(server.requests) == 5
    assert part.path.read_bytes() == content[: part.path.stat().st_size]
    assert fetch(download, server, part) == content


def test_nobody_listens(download, part):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound but not listening: connections are refused
        with refused(download.FetchError):
            download.download(f"http://127.0.0.1:{taken.getsockname()[1]}/file", part, pause=0)


def test_full_disk(download, server, part):
    part.path.symlink_to("/dev/full")
    with refused(download.FetchError, "partial-file: "):
        fetch(download, server, part)
    assert len(server.requests) == 1
