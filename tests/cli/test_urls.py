"""FILE may be a URL: in memory here, and on a server of this machine."""

import gzip
import signal
import socket

import pytest

from tests.cli.training import QUICK, TINY, message
from tests.folders import model_files

SECRET = "hunter2"


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_a_url_gives_the_model_of_a_file(run, memory, served, tiny_model, tmp_path, suffix):
    content = gzip.compress(TINY.encode()) if suffix else TINY.encode()
    memory.pipe(f"/data/tiny.svm{suffix}", content)
    url, files = served
    files[f"/tiny.svm{suffix}"] = content
    for source in (f"memory://data/tiny.svm{suffix}", f"{url}/tiny.svm{suffix}?key=x.bz2"):
        run.ok("train", source, *QUICK, "-o", tmp_path / "other.mpu")
        assert model_files(tmp_path / "other.mpu") == model_files(tiny_model)


def test_the_model_is_named_after_it_in_this_directory(run, memory, tmp_path, monkeypatch):
    memory.pipe("/data/news.svm", TINY.encode())
    monkeypatch.chdir(tmp_path)
    run.ok("train", "memory://data/news.svm", *QUICK)
    assert [path.name for path in tmp_path.iterdir()] == ["news.mpu"]


def test_other_commands_read_them_too(run, memory, tiny, tiny_model):
    memory.pipe("/tiny.svm", TINY.encode())
    tags = tiny.with_name("tags")
    run.ok("predict", tiny_model, tiny, "-o", tags)
    memory.pipe("/tags", tags.read_bytes())
    url = "memory://tiny.svm"
    assert run("evaluate", url, "memory://tags").stdout == run("evaluate", tiny, tags).stdout != ""
    predict, estimate = ("predict", tiny_model), ("estimate-c", "--folds", 2, "--features", "linear")
    for command in (predict, (*predict, "--format", "tsv"), estimate):
        assert run(*command, url).stdout == run(*command, tiny).stdout != ""
    listed = [run("suggest", file, *QUICK, "--top", 2).stdout.splitlines()[1:] for file in (url, tiny)]
    assert listed[0] == listed[1] != []
    message(run("suggest", url, *QUICK, "--format", "svm"))


def test_what_goes_wrong_is_one_line(run, memory, served, tiny_model, tmp_path):
    memory.pipe("/tiny.svm", TINY.encode() + b"1 1:x\n")
    assert "memory://tiny.svm:6: " in message(run("predict", tiny_model, "memory://tiny.svm"))
    url, files = served
    files["/tiny.svm"] = TINY.encode() + b"1 1:x\n"
    said = f"error: {url}/tiny.svm?...:6: value 'x'"
    assert message(run("predict", tiny_model, f"{url}/tiny.svm?key=1")).startswith(said)
    memory.pipe("/cut.svm.gz", gzip.compress(TINY.encode())[:-8])
    assert "memory://cut.svm.gz:1: " in message(run("predict", tiny_model, "memory://cut.svm.gz"))
    assert "memory://gone.svm: " in message(run("train", "memory://gone.svm", "-o", tmp_path / "gone.mpu"))


def test_a_connection_that_breaks_leaves_nothing_half_written(run, served, tiny_model, tmp_path):
    url, files = served
    text = TINY.encode() * 50_000
    files["/cut.svm"] = text[: len(text) // 2], len(text)
    said = f"error: {url}/cut.svm: cannot be read: "
    assert message(run("predict", tiny_model, f"{url}/cut.svm", "-o", tmp_path / "out")).startswith(said)
    assert message(run("train", f"{url}/cut.svm", *QUICK, "-o", tmp_path / "m.mpu")).startswith(said)
    assert [path.name for path in tmp_path.iterdir()] == ["tiny.mpu"]


def test_secrets_are_neither_said_nor_kept(run, served, tmp_path):
    url, files = served
    files["/a.svm"], files["/b.svm"] = TINY.encode(), b"1 1:x\n"
    url = url.replace("//", f"//me:{SECRET}@")
    query = f"?key={SECRET}"
    options = (*QUICK, "-o", tmp_path / "m.mpu", "--history", tmp_path / "history", "-v", "--log-format", "json")
    result = run.ok("train", f"{url}/a.svm{query}", "--fully-labelled", f"{url}/a.svm{query}2", *options)
    assert run.json("info", tmp_path / "m.mpu")["origin"]["source"] == f"{served[0]}/a.svm?..."
    other = *QUICK, "-o", tmp_path / "other.mpu"
    failed = [run("train", f"{url}/{name}{query}", *other) for name in ("b.svm", "gone.svm")]
    failed.append(run("train", f"{url}/a.svm{query}", f"{url}/a.svm{query}"))
    failed.append(run("train", f"{url}/a.svm", "--reviewed", f"{url}/gone{query}", *other))
    failed.append(run("predict", tmp_path / "m.mpu", f"{url}/a.svm{query}", f"{url}/a.svm{query}", "--top-k", "many"))
    assert all(other.exit_code for other in failed)
    kept = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    for text in (result, *failed):
        assert SECRET not in text.output
    assert not any(SECRET.encode() in content for content in kept)


def test_ctrl_c_while_a_server_is_silent(start, tiny, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/x.svm"
        process = start("train", url, "-o", tmp_path / "m.mpu", "-q")
        connection, _ = listening.accept()
        with connection:
            process.send_signal(signal.SIGINT)
            assert process.end() == ("", "interrupted\n", 130)
    assert [path.name for path in tmp_path.iterdir()] == ["tiny.svm"]
