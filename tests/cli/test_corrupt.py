import gzip
import json

import pytest

from mpu_cli.cli.actions import corrupt as module
from mpu_cli.cli.actions.corrupt import command as corrupt
from mpu_cli.errors import InputError
from mpu_cli.inputs.side_tables import frequencies_of_file
from mpu_cli.runtime.run import Run
from mpu_cli.svmlight.reader import read
from tests.cli.tables import label_sets
from tests.full_disk import largest_file
from tests.golden import refused
from tests.memory import peak

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
        assert run("corrupt", *places, *options, again, stdin=LINES).stdout_bytes == target.read_bytes()
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


@pytest.mark.parametrize("top", [b"", b"# a comment\n", b"\xef\xbb\xbf"])
@pytest.mark.parametrize(
    ("first", "rate", "expected"),
    [
        (b"+1 3 5\r\n", 0, b"1 3 5:1\r\n"),
        (b"+1.0 3 ", 0, b"1 3:1 "),
        (b"4,4 3 5\n2 8\n1 8\n", 0, b"4 3 5:1\n2 8\n1 8\n"),
        (b"2,5 30 4\n1 8\n1 8 9\n", 0.25, b"2 30 4:1\n1 8\n1 8 9\n"),
        (b"1,2 3 5\n2 8\n", 0, b"1,2 3 5\n2 8\n"),
        (b"1,2 3 5\n2 8\n", 1, b" 3 5\n 8\n"),
        (b"+1 3 5 # no header\n2 8\n", 0, b"1 3 5 # no header\n2 8\n"),
    ],
)
def test_the_first_instance_does_not_become_a_header(run, tmp_path, top, first, rate, expected):
    source, target = tmp_path / "in", tmp_path / "out"
    source.write_bytes(top + first)
    run.ok("corrupt", source, target, "--missing-rate", rate, "--implicit-values", "--seed", 7)
    assert target.read_bytes() == top + expected


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


TEXT = (
    b"9 50 20\r\n1,2,3 1:0.50\t7:1 # a, b\r\n# comment 1,2\n4#x\n\n 3:1\n"
    b"5,6\t2:1e-3  4:5\n7 1:1\n8,9,10,11 1:2\n5:1\n12"
)


@pytest.fixture
def source(file):
    return file(TEXT, "in.svm")


@pytest.mark.parametrize(("rate", "removed"), [(0, 0), (0.1, 1), (0.25, 3), (0.375, 4), (0.625, 8), (0.9, 11), (1, 12)])
def test_uniform_removes_exactly_the_share(source, tmp_path, rate, removed):
    for seed in range(5):
        report = corrupt(source, tmp_path / "out", rate, run=Run(seed=seed), removed=tmp_path / "removed")
        before, after = label_sets(source), label_sets(tmp_path / "out")
        assert (report["instances"], report["labels"], report["removed"]) == (9, 12, removed)
        assert sum(map(len, after)) == 12 - removed
        assert report["emptied"] == sum(bool(b) and not a for b, a in zip(before, after, strict=True))
        gone = [set() for _ in before]
        for line in (tmp_path / "removed").read_text().splitlines():
            instance, label = line.split("\t")
            gone[int(instance) - 1].add(int(label))
        assert [b - a for b, a in zip(before, after, strict=True)] == gone


def test_nothing_removed_is_a_copy_and_everything_removed_leaves_the_rest(source, tmp_path):
    corrupt(source, tmp_path / "out", 0)
    assert (tmp_path / "out").read_bytes() == TEXT
    corrupt(source, tmp_path / "out", 1)
    assert (tmp_path / "out").read_bytes() == (
        b"9 50 20\r\n 1:0.50\t7:1 # a, b\r\n# comment 1,2\n #x\n\n 3:1\n\t2:1e-3  4:5\n 1:1\n 1:2\n5:1\n "
    )


@pytest.mark.parametrize(
    "changed", [TEXT + b"\n" + b"1,2,3 1:1\n" * 10_000, TEXT[:40], TEXT.replace(b":", b":1"), b"x,2 1:1\n"]
)
@pytest.mark.parametrize("scheme", ["uniform", "label"])
def test_a_file_that_changes_meanwhile(source, tmp_path, monkeypatch, changed, scheme):
    choose = getattr(module, f"{scheme}_draw")

    def choose_then_change(*args):
        draw = choose(*args)
        source.write_bytes(changed)
        return draw

    monkeypatch.setattr(module, f"{scheme}_draw", choose_then_change)
    with refused(InputError):
        corrupt(source, tmp_path / "out", 0.5, scheme=scheme)
    assert not (tmp_path / "out").exists()


@pytest.mark.slow  # of predictions it is not
def test_memory_does_not_grow_with_the_file(tmp_path):
    line = b"1,2,3 " + b" ".join(b"%d:0.25" % index for index in range(1, 60)) + b"\n"
    peaks = []
    for repeats in (12_000, 48_000):  # either is many more blocks than are read ahead
        (tmp_path / "in").write_bytes(line * repeats)
        peaks.append(peak(lambda: corrupt(tmp_path / "in", tmp_path / "out", 0.5, removed=tmp_path / "removed")))
    # How many threads are at their peak at the same time is chance; what is kept of the larger file would not be.
    assert peaks[1] - peaks[0] < 0.2 * len(line) * 36_000
