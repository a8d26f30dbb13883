"""Debian's packages become records with tags: on a made-up Packages file."""

import gzip
import json
import lzma
import sys

import pytest

from tests.data.debian_packages import packages
from tests.golden import refused


@pytest.fixture
def debian(script, monkeypatch, capsys):
    """Run the script with arguments; give the records by id."""

    def run(*arguments: object) -> dict[str, dict]:
        monkeypatch.setattr(sys, "argv", ["debian_tags.py", *map(str, arguments)])
        script("debian_tags").main()
        return {record["id"]: record for record in map(json.loads, capsys.readouterr().out.splitlines())}

    return run


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "Packages"
    path.write_text(packages())
    return path


def test_a_package_is_a_record(debian, file):
    records = debian(file)
    assert len(records) == 60
    assert records["chess-dev"] == {
        "id": "chess-dev",
        "title": "headers for development with chess",
        "section": "libdevel",
        "depends": "libchess0 libchess1",
        "tags": ["role::devel-lib", "devel::lang:c", "devel::lang:c++"],
    }
    assert records["chess-cli"]["depends"] == "libc6 libchess0"
    assert (records["openmail-doc"]["depends"], records["chess"]["tags"]) == ("libjs-jquery", [])
    assert records["chess-data"] == {
        "id": "chess-data", "title": "data files of chess", "section": "misc", "depends": "", "tags": ["role::app-data"]
    }  # fmt: skip


def test_compressed_files_and_apt_give_the_same(debian, file, tmp_path, monkeypatch):
    expected = debian(file)
    (tmp_path / "Packages.gz").write_bytes(gzip.compress(file.read_bytes()))
    (tmp_path / "Packages.xz").write_bytes(lzma.compress(file.read_bytes()))
    apt = tmp_path / "apt-cache"
    apt.write_text(f'#!/bin/sh\ntest "$1" = dumpavail && cat "{file}"\n')
    apt.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert debian(tmp_path / "Packages.gz") == debian(tmp_path / "Packages.xz") == debian() == expected


@pytest.mark.parametrize("content", [None, b"", b"\xff", b"x\n"])
def test_what_is_no_packages_file_is_said(debian, tmp_path, content, capsys):
    path = tmp_path / "Packages"
    if content is not None:
        path.write_bytes(content)
    with refused(SystemExit) as stopped:
        debian(path)
    assert str(stopped.value).startswith("error: ")
    assert capsys.readouterr().out == ""
