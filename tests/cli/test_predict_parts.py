"""`mpu predict MODEL FILE... -o OUT/`: a file of predictions for each FILE, of its name."""

import gzip
import os
import signal
import time

import pytest

from tests.cli.training import QUICK, TINY, message
from tests.folders import contents, names

LINES = TINY.splitlines(keepends=True)


@pytest.fixture
def parts(tmp_path):
    """Three files in a directory, one compressed, one with a blank in its name and no instances."""
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "part-0.svm").write_text("".join(LINES[:2]))
    (folder / "part 1.svm").write_text("# nothing\n")
    (folder / "part-2.svm.gz").write_bytes(gzip.compress("".join(LINES[2:]).encode()))
    return [folder / name for name in ("part-0.svm", "part 1.svm", "part-2.svm.gz")]


def predicted(folder) -> dict[str, bytes]:
    found = contents(folder)
    return {name: gzip.decompress(data) if name.endswith(".gz") else data for name, data in found.items()}


@pytest.mark.parametrize("options", [(), ("--format", "scores"), ("--format", "jsonl", "--top-k", 2)])
def test_each_has_the_predictions_of_its_lines(run, tiny_model, parts, tmp_path, options):
    result = run("predict", tiny_model, *parts, "-o", tmp_path / "out", *options)
    assert (result.exit_code, result.output) == (0, "")
    alone = {path.name: run("predict", tiny_model, path, *options).stdout_bytes for path in parts}
    assert predicted(tmp_path / "out") == alone
    assert (tmp_path / "out" / "part-2.svm.gz").read_bytes()[:2] == b"\x1f\x8b"


def test_one_file_goes_to_a_directory_where_the_name_says_so(run, tiny_model, parts, tmp_path):
    run.ok("predict", tiny_model, parts[0], "-o", f"{tmp_path}/out/")
    assert predicted(tmp_path / "out").keys() == {"part-0.svm"}
    message(run("predict", tiny_model, parts[0], "-o", tmp_path / "out"))


def test_texts(run, tmp_path):
    rows = [f'{{"text": "{word} day {word}", "tags": ["{word}"]}}\n' for word in ("red", "green") * 4]
    for name in ("all", "a", "b"):
        (tmp_path / f"{name}.jsonl").write_text("".join(rows if name == "all" else rows[:3]))
    run.ok("vectorize", tmp_path / "all.jsonl", "-o", tmp_path / "all.svm", "--min-df", 1)
    run.ok("train", tmp_path / "all.svm", *QUICK)
    files = (tmp_path / "a.jsonl", tmp_path / "b.jsonl")
    run.ok("predict", tmp_path / "all.mpu", *files, "-o", tmp_path / "out")
    (once,) = set(predicted(tmp_path / "out").values())
    assert once.count(b"\n") == 3


def test_a_directory_in_the_way(run, tiny_model, parts, tmp_path):
    (tmp_path / "there" / "part-2.svm.gz").mkdir(parents=True)
    assert "part-2.svm.gz: " in message(run("predict", tiny_model, *parts, "-o", tmp_path / "there"))
    assert names(tmp_path / "there") == {"part 1.svm", "part-0.svm", "part-2.svm.gz"}


@pytest.mark.parametrize("bad", [0, 2])
def test_after_an_error_what_is_there_is_whole(run, tiny_model, parts, tmp_path, bad):
    parts[bad] = parts[0].parent / "bad.svm"
    parts[bad].write_text(f"{TINY}1 1:x\n")
    assert f"error: {parts[bad]}:6: " in message(run("predict", tiny_model, *parts, "-o", tmp_path / "out"))
    out = tmp_path / "out"
    assert (names(out) if bad else out.exists()) == ({"part 1.svm", "part-0.svm"} if bad else False)


def test_ctrl_c_leaves_whole_files(start, tiny_model, parts, tmp_path):
    os.mkfifo(tmp_path / "data" / "pipe.svm")  # nobody writes to it
    process = start("predict", tiny_model, *parts, tmp_path / "data" / "pipe.svm", "-o", tmp_path / "out", "-q")
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (tmp_path / "out" / "part-2.svm.gz").exists():
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert process.end() == ("", "interrupted\n", 130)
    assert names(tmp_path / "out") == {"part 1.svm", "part-0.svm", "part-2.svm.gz"}
