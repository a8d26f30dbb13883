"""Labels in a copy of the data: ``suggest --format svm``; and rules of which labels imply others."""

import gzip
import io

import numpy as np
import pytest

from mpu_cli.errors import InputError
from mpu_cli.names.label_names import LabelNames
from mpu_cli.names.naming import read_implications
from mpu_cli.review.decisions import read_lines
from tests.cli.tables import label_sets
from tests.core.simulated import hide, linear_problem
from tests.golden import refused

IDS = np.array([2, 5, 7, 30])
QUICK = "--c", 0.6, "--cost", 10, "--epochs", 3, "--levels", 1, "--features", "linear", "-q", "--format", "svm"


@pytest.fixture(scope="module")
def text() -> bytes:
    """Data without two fifths of their labels, in any order, with comments and two kinds of line ends."""
    X, truth = linear_problem(400, 6, 4)
    lines = ["# made for a test\n"]
    for i, (x, s) in enumerate(zip(X, hide(truth, 0.4).toarray(), strict=True)):
        labels = ",".join(map(str, IDS[s][:: -1 if i % 2 else 1]))
        features = "".join(f" {j}:{value:.4f}" for j, value in enumerate(x, 1))
        lines.append(labels + features + ("  # note 1,2\r\n" if i % 3 else "\n"))
    return "".join(lines).encode()


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_filled_in_labels_come_after_the_others_and_nothing_else_changes(run, text, tmp_path, suffix):
    source, out = tmp_path / f"in.svm{suffix}", tmp_path / "out.svm"
    source.write_bytes(gzip.compress(text) if suffix else text)
    run.ok("suggest", source, *QUICK, "--top", 50, "-o", out)
    filled, expected = read_lines(tmp_path / "out.filled"), label_sets(source)
    assert len(filled.instance) == 50
    for i, k in zip(filled.instance.tolist(), filled.label.tolist(), strict=True):
        expected[i].add(k)
    assert label_sets(out) == expected
    for old, new in zip(text.split(b"\n"), out.read_bytes().split(b"\n"), strict=True):
        first, space, rest = old.partition(b" ")
        assert new.startswith(first)
        assert new.endswith(space + rest)


def test_implied_labels_are_filled_in(run, text, tmp_path):
    source, out, rules = (tmp_path / name for name in ("in.svm", "out.svm", "rules"))
    source.write_bytes(text)
    rules.write_text("5 30\n30 900\n")
    run.ok("suggest", source, *QUICK, "--min-probability", 1, "--implied", rules, "--fill-implied", "-o", out)
    for before, after in zip(label_sets(source), label_sets(out), strict=True):
        assert after == before | ({30, 900} if 5 in before else set()) | ({900} if 30 in before else set())


@pytest.mark.parametrize("text", ["narrower\tbroader\n7\t3\n", "7 3 # a comment\n\n# 1 2\n3 1\n", "\ufeff7\t3\r\n"])
def test_a_file_of_implications(tmp_path, text):
    (tmp_path / "implied.tsv").write_text(text, newline="")
    assert 3 in read_implications(tmp_path / "implied.tsv").broader(7)


def test_rules_on_labels_that_are_not_in_use_hand_on_what_they_imply(tmp_path, caplog, monkeypatch):
    """Rules may be those of a whole thesaurus. Where none is on labels in use, the first one is an error."""
    names, rules = LabelNames.of({1: ("oaks",), 2: ("plants",)}), tmp_path / "rules.tsv"
    rules.write_text("oaks\ttrees\ntrees\tplants\noaks\tplants\nbeech\ttrees\n")
    implications = read_implications(rules, names)
    assert 2 in implications.broader(1)
    assert implications.labels().tolist() == [2]
    assert caplog.messages == [f"{rules}: 3 of 4 lines with unknown labels, such as 'trees'"]
    rules.write_text("oaks\ttrees\ntrees\tplants\n1\t1\n")
    assert 2 in read_implications(rules, names).broader(1)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"# trees\nbeech\ttrees\n")))
    with refused(InputError, "standard input:2: "):
        read_implications("-", names)
