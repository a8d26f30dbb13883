"""The scripts in examples/ run and print what they are about."""

import csv
import random
import re

import pytest

from tests.conftest import ROOT
from tests.examples.conftest import EXAMPLES

pytestmark = pytest.mark.slow


def test_text_to_tags(shell):
    result = shell("python3", EXAMPLES / "text_to_tags.py")
    assert result.stderr == ""
    estimated, true = map(float, re.search(r"label frequency +(\S+) estimated, (\S+) true", result.stdout).groups())
    assert abs(estimated - true) < 0.1
    assert float(re.search(r"micro-F1 +(\S+)", result.stdout)[1]) > 0.95


def test_comparison_with_one_vs_rest(shell, place, digits):
    for path, every in zip(digits, (3, 1), strict=True):  # of all training digits, it takes twice as long
        (place / path.name).write_text("".join(path.read_text().splitlines(keepends=True)[::every]))
    result = shell("python3", EXAMPLES / "one_vs_rest.py", place)
    assert result.stderr == ""
    rows = [line.split() for line in result.stdout.splitlines()[1:]]
    assert [row[0] for row in rows] == ["30%", "60%"]
    ahead = [float(ours) - float(others) for _, ours, others in rows]
    assert ahead[0] > 0.05 and ahead[1] > 0.4


def test_c_by_label(shell, place, instances):
    (place / "examples").symlink_to(EXAMPLES)
    (place / "data").mkdir()
    for name in ("digits.labels", "review_by_truth.py"):
        (place / "data" / name).symlink_to(ROOT / "data" / name)
    (place / "data" / "digits-train.svm").write_text("".join(instances[:600]))  # learned sooner than the digits
    alone, reviewed = shell("sh", "examples/c_by_label.sh").stdout.split("By 200 instances")
    for part in (alone, reviewed):
        assert re.search(r"^1 +zero +\d+ ", part, re.MULTILINE)
        assert 0.4 < float(re.search(r"label frequency c +(\S+)", part)[1]) < 0.6


def test_a_librarians_hour(shell, place):
    words = {"Television": "broadcast screen channel", "Gardens": "flowers soil trees", "Ships": "harbour sail sea"}
    subjects, chance = list(words), random.Random(0)
    with (place / "books.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["id", "text", "tags"])
        for i in range(300):
            some = [subjects[i % 3]] + [subjects[(i + 1) % 3]] * (i % 2)
            text = " ".join(f"{words[name]} {name.lower()}" for name in some) + f" number {i % 7}"
            table.writerow([f"b{i}", text, ";".join(name for name in some if chance.random() < 0.6)])
    assert "label frequency c" in shell("sh", EXAMPLES / "librarian.sh", "books.csv").stdout
    assert len((place / "books.missing.tsv").read_text().splitlines()) > 50
    assert "broadcast screen channel" in (place / "books.html").read_text()
