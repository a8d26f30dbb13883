import select
import subprocess
import sys

import pytest


def make(run, folder):
    (folder / "x.svm").write_text("1 1:1\n2 2:1\n1,2 1:1 2:1\n" * 30)
    assert run("train", folder / "x.svm", "--c", 0.9, "--cost", 30, "--epochs", 5, "-q").exit_code == 0


@pytest.fixture
def model(copied):
    return copied(make) / "x.mpu"


def test_each_line_is_answered_before_the_next_one_is_asked(model):
    command = [sys.executable, "-m", "mpu_cli", "predict", model, "-", "--line-buffered", "-q"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as process:
        answers = []
        for line in (b" 1:1\n", b"# a comment is no instance\n 2:1\n", b"\n", b"1 1:1 2:1\n"):
            process.stdin.write(line)
            assert select.select([process.stdout], [], [], 60)[0], "no answer within a minute"
            answers.append(process.stdout.readline())
        process.stdin.close()
        assert process.stdout.read() == b""
    assert process.returncode == 0
    assert answers[0] == b"1\n"
    assert answers[1] == b"2\n"
    assert answers[3] == b"1,2\n"


@pytest.mark.parametrize("form", ["labels", "scores", "both", "jsonl", "tsv"])
def test_the_answers_are_those_of_the_whole_file(run, model, tmp_path, form):
    whole = run("predict", model, tmp_path / "x.svm", "--format", form).stdout
    assert run("predict", model, tmp_path / "x.svm", "--format", form, "--line-buffered").stdout == whole
    data = (tmp_path / "x.svm").read_bytes()
    assert run("predict", model, "-", "--format", form, "--line-buffered", stdin=data[:-1]).stdout == whole


def test_a_bad_line_is_named_after_the_answers_before_it(run, model):
    result = run("predict", model, "-", "--line-buffered", stdin=b" 1:1\n 2:1\n 1:word\n")
    assert (result.exit_code, result.stdout) == (1, "1\n2\n")
    assert "standard input:3: " in result.stderr
