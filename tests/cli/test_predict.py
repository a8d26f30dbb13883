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
def source(tmp_path):
    path = tmp_path / "new.svm"
    path.write_text(DATA)
    return path


def scores(text: str) -> list[list[tuple[int, float]]]:
    return [
        [(int(label), float(p)) for label, _, p in (pair.partition(":") for pair in line.partition("#")[0].split())]
        for line in text.splitlines()
    ]


def error(result) -> str:
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    return result.stderr


def test_labels(run, model, source):
    result = run("predict", model, source)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == "1\n2\n1,2\n"


def test_top_k(run, model, source):
    assert [len(line) for line in scores(run("predict", model, source, "--format", "scores", "--top-k", 2).stdout)] == [
        2
    ] * 3
    assert run("predict", model, source, "--top-k", 1).stdout.count(",") == 0
    assert run("predict", model, source, "--top-k", 99).stdout == "1\n2\n1,2\n"


def test_threshold(run, model, source):
    assert run("predict", model, source, "--threshold", 0).stdout == "1,2,5\n" * 3
    assert run("predict", model, source, "--threshold", 1).stdout == "\n" * 3
    over = scores(run("predict", model, source, "--format", "scores", "--threshold", 0.5).stdout)
    assert all(p >= 0.5 for line in over for _, p in line)


def test_a_file_and_standard_output_are_the_same(run, model, source, tmp_path):
    result = run("predict", model, source, "-o", tmp_path / "out.txt", "-v")
    assert result.stdout == ""
    assert result.stderr.endswith("3 instances, 4 labels written\n")
    assert (tmp_path / "out.txt").read_text() == run("predict", model, "-", stdin=DATA.encode()).stdout


def test_implicit_values(run, model):
    assert run("predict", model, "-", "--implicit-values", stdin=b" 1\n 2\n 1 2\n").stdout == "1\n2\n1,2\n"
    assert "standard input:1:" in error(run("predict", model, "-", stdin=b" 1\n"))


def test_bad_data_leave_the_output_as_it_was(run, model, tmp_path):
    bad, out = tmp_path / "bad.svm", tmp_path / "out.txt"
    bad.write_text(DATA + "1 1:\n")
    out.write_text("old")
    assert f"error: {bad}:4: " in error(run("predict", model, bad, "-o", out))
    assert out.read_text() == "old"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["bad.svm", "data.mpu", "out.txt"]


@pytest.mark.parametrize("form", ["labels", "scores"])
@pytest.mark.parametrize("content", [b"", b"# no news today\n", b"0 4 6\n"])
def test_no_instances_are_no_lines_and_a_warning(run, model, tmp_path, content, form):
    path, out = tmp_path / "new.svm", tmp_path / "out.txt"
    path.write_bytes(content)
    result = run("predict", model, path, "-o", out, "--quiet", "--format", form)
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.startswith(f"warning: {path}: there are no instances, so nothing was predicted [")
    assert out.read_bytes() == b""
    piped = run("predict", model, "-", "--format", form, stdin=content)
    assert (piped.exit_code, piped.stdout) == (0, "")
    assert piped.stderr.startswith("warning: standard input: there are no instances, so nothing was predicted [")
