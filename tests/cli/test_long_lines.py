"""No command lets a line without end, however it comes in, fill the memory."""

import gzip
import tracemalloc

import pytest

from tests.cli.training import QUICK, message

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


@pytest.fixture
def refused(run, endless, tmp_path):
    """Run a command on the data; fail if it takes them, or takes memory for them."""
    name, stdin = endless

    def check(command, *options):
        before = sorted(tmp_path.iterdir())
        tracemalloc.start()
        try:
            result = run(command, *(name if option is ... else option for option in options), stdin=stdin)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        place = "standard input:2" if stdin else f"{name}:2"
        assert f"{place}: " in message(result)
        assert "--max-line-bytes" in result.stderr
        assert peak < len(ENDLESS) + 20 * LIMIT if stdin else 20 * LIMIT  # the runner copies its standard input
        assert sorted(tmp_path.iterdir()) == before

    return check


def limited(*options):
    return (*options, "--max-line-bytes", LIMIT)


def test_corrupt(refused, tmp_path):
    refused(*limited("corrupt", ..., tmp_path / "out.svm", "--missing-rate", 0.5))


def test_estimate_c(refused):
    refused(*limited("estimate-c", ...))


def test_train(refused, tmp_path):
    refused(*limited("train", ..., "-o", tmp_path / "new.mpu"))


def test_predict(refused, tiny_model, tmp_path):
    refused(*limited("predict", tiny_model, ..., "-o", tmp_path / "out.txt"))


def test_vectorize(refused, tmp_path):
    refused(*limited("vectorize", ..., "--format", "csv", "--text", "1", "-o", tmp_path / "out.svm"))


@pytest.mark.parametrize("place", [0, 1])
def test_evaluate(refused, tmp_path, place):
    files = [tmp_path / "labels.txt"] * 2
    files[place].write_text("1\n" * 3)
    files[place] = ...
    refused(*limited("evaluate", *files))


def test_the_limit_can_be_raised(run, tmp_path):
    (tmp_path / "wide.svm").write_text("1 " + " ".join(f"{index}:1" for index in range(1, 200)) + "\n2 1:1\n")
    arguments = ("train", tmp_path / "wide.svm", *QUICK, "--max-line-bytes")
    assert "wide.svm:1: " in message(run(*arguments, 1000))
    assert run(*arguments, 2000).exit_code == 0
