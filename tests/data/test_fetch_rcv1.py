"""Fetching RCV1: what is checked, and what is left in the folder when it is wrong."""

import bz2

import pytest
from click.testing import CliRunner

from mpu_cli.cli import messages
from mpu_cli.errors import MpuError
from tests.folders import names

pytest.importorskip("fsspec")

LINES = ["0,2 1:0.5 7:1\n", "1 3:0.25\n", "2 2:1\n"]
NAME = "tiny.svm.bz2"


@pytest.fixture
def rcv1(script):
    messages.reset([])  # of a command that ran in this process before
    return script("fetch_rcv1")


@pytest.fixture
def tiny(rcv1):
    return rcv1.Expected(NAME, rows=3, labels=3, largest_label=2, largest_feature=7)


@pytest.fixture
def content(served):
    """Serve a file, and give the URL of its folder."""
    url, files = served

    def put(data: bytes) -> str:
        files[f"/{NAME}"] = data
        return f"{url}/"

    return put


def compressed(lines: list[str]) -> bytes:
    return bz2.compress("".join(lines).encode())


def test_checked_file_is_kept_and_not_fetched_again(rcv1, tiny, content, tmp_path, capsys):
    whole = compressed(LINES)
    rcv1.fetch(tiny, content(whole), tmp_path)
    assert ((tmp_path / NAME).read_bytes(), names(tmp_path)) == (whole, {NAME})
    assert capsys.readouterr().out == f"{tmp_path / NAME}: 3 instances, 3 labels, 4 features\n"
    rcv1.fetch(tiny, content(b""), tmp_path)
    assert capsys.readouterr().out == f"{tmp_path / NAME}: already here\n"


@pytest.mark.parametrize(
    "lines, problem",
    [
        (LINES[:2], "expected 3 instances, got 2"),
        (["0 1:1\n", "1 1:1\n", "1 1:1\n"], "expected 3 labels, got 2"),
        (["0 1:1\n", "1 1:1\n", "3 1:1\n"], "expected labels from 0 to 2, got 3"),
        (["0 1:1\n", "1 8:1\n", "2 1:1\n"], "expected features from 1 to 7, got 1 to 8"),
        ([*LINES[:2], "9 9:1\n", LINES[0]], "3 instances, got 4; 3 labels, got 4; labels from 0 to 2, got 9; features"),
    ],
)
def test_wrong_contents_are_named_and_removed(rcv1, tiny, content, tmp_path, lines, problem):
    with pytest.raises(MpuError) as error:
        rcv1.fetch(tiny, content(compressed(lines)), tmp_path)
    assert str(error.value).startswith(f"{NAME}: ")
    assert problem in str(error.value)
    assert not names(tmp_path)


@pytest.mark.parametrize(
    "data",
    [compressed(LINES)[:-20], b"<html>moved</html>", b"", (compressed(LINES)[:9], 99), 404],
    ids=["cut", "html", "empty", "broken off", "absent"],
)
def test_unreadable_files_are_removed(rcv1, tiny, content, tmp_path, data):
    with pytest.raises(MpuError):
        rcv1.fetch(tiny, content(data), tmp_path)
    assert not names(tmp_path)


def test_command_line(rcv1, tiny, content, tmp_path, monkeypatch):
    monkeypatch.setitem(rcv1.SETS, "small", (tiny,))
    # No slash at the end of the address, and a folder that does not exist yet.
    base = content(compressed(LINES)).rstrip("/")
    args = ["small", "--base-url", base, "--folder", str(tmp_path / "new" / "rcv1")]
    assert (CliRunner().invoke(rcv1.main, args).exit_code, names(tmp_path / "new" / "rcv1")) == (0, {NAME})
    again = CliRunner().invoke(rcv1.main, args)
    assert (again.exit_code, again.stderr) == (0, "")
    assert "already here" in again.stdout


def test_command_line_says_what_failed(rcv1, served, tmp_path):
    result = CliRunner().invoke(rcv1.main, ["small", "--base-url", served[0], "--folder", str(tmp_path)])
    assert result.exit_code == 1
    url = f"{served[0]}/rcv1subset_topics_train_1.svm.bz2"
    assert result.stderr == f"fetching {url}\nerror: {url}: cannot be read: there is no such file\n"


@pytest.mark.parametrize("url", ["ftp://host/", "data/", "http://", "http://[", "http://host:port/", ""])
def test_bad_address_is_wrong_usage(rcv1, tmp_path, url):
    result = CliRunner().invoke(rcv1.main, ["small", "--base-url", url, "--folder", str(tmp_path)])
    assert result.exit_code == 2
    assert "expected an address such as https://" in result.stderr
