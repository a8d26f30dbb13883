"""No command lets a line without end, however it comes in, fill the memory."""

import gzip

import pytest

from tests.cli.training import message
from tests.line_limit import line_limit
from tests.memory import peak_below

LIMIT = 1_000_000
ENDLESS = b"1\n" + bytes(32 * LIMIT)  # compressed, a small bomb


@pytest.fixture(params=["plain", "compressed", "piped"])
def endless(request, tmp_path):
    """Give the name of data with a line that is far too long, and what standard input is."""
    if request.param == "piped":
        return "-", ENDLESS
    if request.param == "plain":
        path, data = tmp_path / "endless.svm", ENDLESS
    else:
        path, data = tmp_path / "endless.svm.gz", gzip.compress(ENDLESS, compresslevel=1)
    path.write_bytes(data)
    return path, None


COMMANDS = {  # the data stand for ...
    "corrupt": ("corrupt", ..., "out", "--missing-rate", 0.5),
    "estimate-c": ("estimate-c", ...),
    "train": ("train", ..., "-o", "out"),
    "predict": ("predict", "tiny.mpu", ..., "-o", "out"),
    "vectorize": ("vectorize", ..., "--format", "csv", "--text", "1", "-o", "out"),
    "evaluate": ("evaluate", ..., "labels"),
    "evaluate, predictions": ("evaluate", "labels", ...),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_line_without_end_is_refused_in_little_memory(run, endless, tiny_model, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "labels").write_text("1\n" * 3)
    name, stdin = endless
    before = sorted(tmp_path.iterdir())
    arguments = (name if word is ... else word for word in COMMANDS[command])
    copied = len(ENDLESS) if stdin else 0  # by the runner
    with line_limit(LIMIT), peak_below(20 * LIMIT + copied):
        result = run(*arguments, stdin=stdin)
    assert f"{'standard input' if stdin else name}:2: " in message(result)
    assert sorted(tmp_path.iterdir()) == before
