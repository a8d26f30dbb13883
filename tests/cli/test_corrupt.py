import gzip
import json

import pytest

from mpu_cli.inputs.side_tables import frequencies_of_file
from mpu_cli.svmlight.reader import read
from tests.full_disk import largest_file

LINES = b"1,2 1:1\n3 1:1\n4,5,6 2:1\n"


def test_what_was_kept_of_each_label_is_a_file_of_frequencies(run, tmp_path):
    (tmp_path / "in").write_bytes(b"9,3 1:1\n" * 60 + b"5 2:1\n")
    args = ("--missing-rate", 0.5, "--scheme", "label", "--kept", tmp_path / "c.txt", "--log-format", "json")
    result = run("corrupt", tmp_path / "in", tmp_path / "out", *args)
    left = read(tmp_path / "out").labels.sum(axis=0)
    expected = {label: left[label] / total for label, total in ((3, 60), (5, 1), (9, 60)) if left[label]}
    assert frequencies_of_file(tmp_path / "c.txt")[0] == pytest.approx(expected)
    said = json.loads(result.stderr)
    assert said["c"] == left.sum() / 121
    shares = [left[3] / 60, left[5], left[9] / 60]
    assert (said["least_c"], said["most_c"]) == (min(shares), max(shares))


def test_labels_as_others_write_them(run, tmp_path):
    """They are counted and removed as if they were written in digits, each once."""
    (tmp_path / "in").write_bytes(b"\xef\xbb\xbf3 9 9\n1, 2.0\t1:1\n7,5,7 1:1 # 7, 7\n+3 2:1\n")
    result = run("corrupt", tmp_path / "in", "--missing-rate", 0)
    assert result.stdout_bytes == b"\xef\xbb\xbf3 9 9\n1,2\t1:1\n7,5 1:1 # 7, 7\n3 2:1\n"
    assert "3 instances with 5 labels: 0 removed" in result.stderr
    assert run("corrupt", "-", "--missing-rate", 0, stdin=gzip.compress(LINES)).stdout_bytes == LINES


def test_filter(run, tmp_path):
    source, target, removed, again = (tmp_path / name for name in ("in.svm", "out", "removed", "again"))
    source.write_bytes(LINES)
    options = "--missing-rate", 0.5, "--seed", 7, "--removed"
    assert run.ok("corrupt", source, target, *options, removed).stdout == ""
    for places in ((), ("-",), ("-", "-")):
        result = run("corrupt", *places, *options, again, stdin=LINES)
        assert result.stdout_bytes == target.read_bytes()
        assert again.read_bytes() == removed.read_bytes()
    assert removed.read_bytes().count(b"\n") == 3


@pytest.mark.parametrize("header", [b"3 9 9\n", b"3 9\n"])
@pytest.mark.parametrize("options", [(), ("--implicit-values",)])
def test_comments_and_the_header_are_copied(run, tmp_path, header, options):
    top = b"# a comment\n" * 60_000 + header  # more than is read at once
    (tmp_path / "x").write_bytes(top + b"1 2:1\n1 4:1\n1 5:1\n")
    removed = tmp_path / "removed"
    options = ("--missing-rate", 1, "--removed", removed, *options)
    run.ok("corrupt", tmp_path / "x", tmp_path / "out", *options)
    assert (tmp_path / "out").read_bytes() == top + b" 2:1\n 4:1\n 5:1\n"
    assert removed.read_text() == "1\t1\n2\t1\n3\t1\n"


@pytest.mark.parametrize("largest", ["the list", "the output"])
def test_the_output_and_its_lists_appear_or_none(run, tmp_path, largest):
    """`make` would take an output without its list for up to date."""
    labels = ",".join(map(str, range(2000))) if largest == "the list" else "1"
    source, target, kept, removed = (tmp_path / name for name in ("in.svm", "out.svm", "c.txt", "removed.tsv"))
    source.write_text(f"{labels} 1:1{' ' * 12_000 * (largest == 'the output')}\n")
    target.write_text("1 1:1\n")
    args = ("corrupt", source, target, "--missing-rate", 0, "--kept", kept, "--removed", removed, "--kernel", "numpy")
    with largest_file(12_000):
        result = run(*args)
    assert (result.exit_code, target.read_text()) == (1, "1 1:1\n")
    assert "File too large" in result.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.svm", "out.svm"]
    run.ok(*args)
    assert target.read_bytes() == source.read_bytes()
    assert len(kept.read_text().splitlines()) == labels.count(",") + 1
