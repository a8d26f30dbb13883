"""Files at URLs, read by fsspec: in memory, and from a server of this machine."""

import sys

import pytest

from mpu_cli.errors import InputError
from mpu_cli.runtime.files import open_url
from mpu_cli.svmlight.streams import file_name, is_url

DATA = bytes(range(256)) * 9000  # more than two buffers


@pytest.fixture
def server(served):
    url, files = served
    files |= {"/x": DATA, "/cut": (DATA[:-1000], len(DATA)), "/reset": (DATA[:1000], len(DATA))}
    files |= {"/chunked": (DATA, None), "/denied": 403, "/broken": 500}
    return url


@pytest.mark.parametrize(
    "source, expected",
    [("s3://b/x", True), ("https://h/x", True), ("-", False), ("x.svm", False), ("/a:/b", False), ("C://x", False)],
)
def test_what_is_a_url(source, expected):
    assert is_url(source) == expected


@pytest.mark.parametrize(
    "url, name",
    [
        ("https://h/a/news.svm.gz?key=a/b.xz#c", "news.svm.gz"),
        ("s3://bucket/day#1/news?.svm.bz2", "news?.svm.bz2"),
        ("https://h", "h"),
    ],
)
def test_the_name_of_a_file(url, name):
    assert str(file_name(url)) == name


def test_it_is_read_as_it_is(memory, server):
    memory.pipe("/data/x", DATA)
    for url in ("memory://data/x", f"{server}/x?key=1"):
        with open_url(url) as stream:
            assert stream.read(10) + stream.readline() + stream.read() == DATA


@pytest.mark.parametrize("path", ["cut", "reset", "chunked"])
def test_what_is_cut_short_is_an_error_and_no_data(server, path):
    with open_url(f"{server}/{path}") as stream, pytest.raises(InputError, match=f"{server}/{path}: cannot be read: "):
        while stream.read(1 << 16):
            pass


@pytest.mark.parametrize(
    "path, said",
    [("missing", "there is no such file"), ("denied", " 403 Forbidden ("), ("broken", " 500 Internal Server Error (")],
)
def test_an_answer_that_is_none_is_said_without_secrets(server, path, said):
    url = f"{server.replace('//', '//me:secret@')}/{path}?key=secret"
    with pytest.raises(InputError) as error, open_url(url):
        pass
    assert str(error.value).startswith(f"{server}/{path}?...: cannot be read: ")
    assert said in str(error.value)
    assert "secret" not in str(error.value)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://127.0.0.1:9/x", r"cannot be read: Cannot connect to host .* \(ClientConnectorError\)"),
        ("memory://no/such", "cannot be read: there is no such file"),
        ("memory://folder", "cannot be read: there is no such file"),
        ("nosuch://x", "cannot be read: Protocol not known: nosuch "),
    ],
)
def test_where_there_is_nothing(memory, monkeypatch, url, said):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    memory.pipe("/folder/x", b"1")
    with pytest.raises(InputError, match=f"{url}: {said}"), open_url(url):
        pass


def test_what_to_install_is_said(monkeypatch):
    for name in ("s3fs", "gcsfs"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(InputError) as error, open_url("s3://bucket/x"):
        pass
    assert str(error.value).startswith("s3://bucket/x: cannot be read: Install s3fs")
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(InputError, match="URLs need the package fsspec"), open_url("memory://x"):
        pass
