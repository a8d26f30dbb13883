import shutil

import pytest

DATA = " 1:1\n 2:1\n 1:1 2:1\n"


def make(run, folder):
    (folder / "data.svm").write_text("1 1:1\n2 2:1\n1,2 1:1 2:1\n5 3:1\n" * 20)
    run.ok("train", folder / "data.svm", "--c", 1, "--cost", 30, "--levels", 2, "-q")


@pytest.fixture
def model(made, tmp_path):
    return shutil.copytree(made(make) / "data.mpu", tmp_path / "data.mpu")


@pytest.fixture
def source(file):
    return file(DATA, "new.svm")


def scores(text: str) -> list[list[float]]:
    lines = (line.partition("#")[0].split() for line in text.splitlines())
    return [[float(pair.partition(":")[2]) for pair in line] for line in lines]


def test_scores_of_the_most_probable_and_over_a_threshold(run, model, source):
    """Of labels: tests/golden/reports.txt."""
    args = "predict", model, source, "--format", "scores"
    assert [len(line) for line in scores(run(*args, "--top-k", 2).stdout)] == [2, 2, 2]
    assert all(p >= 0.5 for line in scores(run(*args, "--threshold", 0.5).stdout) for p in line)


def test_a_file_and_standard_output_are_the_same(run, model, source, tmp_path):
    result = run("predict", model, source, "-o", tmp_path / "out.txt", "-v")
    assert result.stdout == ""
    assert result.stderr.endswith("3 instances, 4 labels written\n")
    assert (tmp_path / "out.txt").read_text() == run("predict", model, "-", stdin=DATA.encode()).stdout == "1\n2\n1,2\n"
