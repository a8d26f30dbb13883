import gzip

import numpy as np
import pytest
from scipy.sparse import csr_array

from mpu_cli.cli.actions import suggest
from mpu_cli.core.evidence import Evidence
from mpu_cli.core.labels.implications import Implications
from mpu_cli.core.labels.problem import Problem
from mpu_cli.core.options import Options
from mpu_cli.core.stacking import train
from mpu_cli.errors import InputError
from mpu_cli.names.label_names import LabelNames
from mpu_cli.names.naming import read_implications
from mpu_cli.people import suggestions
from mpu_cli.people.posteriors import Choice
from mpu_cli.runtime.run import Run
from mpu_cli.svmlight.reader import read
from mpu_cli.svmlight.writer import find_labels
from tests.core.simulated import hide, linear_problem
from tests.golden import refused

N, Q = 400, 4
IDS = np.array([2, 5, 7, 30])
OPTIONS = Options(c=0.6, epochs=3, cost=10.0)
FIFTY = Choice(top=50)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A file, its features, labels of which two fifths were removed, and the truth."""
    X, truth = linear_problem(N, 6, Q)
    annotated = hide(truth, 0.4).toarray()
    path = tmp_path_factory.mktemp("data") / "news.svm"
    lines = ["# made for a test\n"]
    for i, (x, s) in enumerate(zip(X, annotated, strict=True)):
        features = "".join(f" {j + 1}:{value:.4f}" for j, value in enumerate(x))
        lines.append(
            ",".join(map(str, IDS[s][:: -1 if i % 2 else 1])) + features + ("  # note 1,2\r\n" if i % 3 else "\n")
        )
    path.write_text("".join(lines), newline="")
    read_back = read(path)
    labels, ids = read_back.occurring_labels()
    assert ids.tolist() == IDS.tolist()
    assert (labels.toarray() == annotated).all()
    return path, read_back.features, labels, truth.astype(bool)


def find(data, choice=FIFTY, verified=None, implications=None, jobs=1):
    _, features, labels, _ = data
    problem, run = Problem(features, labels, verified=verified), Run(jobs=jobs)
    evidence = Evidence.of_training(train(problem, OPTIONS, run, hold_out_all=True)[1], problem)
    return suggestions.find(evidence, problem, IDS, choice, implications, run)


def label_sets(block: bytes):
    return list(map(set, find_labels(block)))


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_filled_in_labels_come_after_the_others_and_nothing_else_changes(data, tmp_path, suffix):
    path, *_ = data
    source = tmp_path / f"in.svm{suffix}"
    source.write_bytes(gzip.compress(path.read_bytes()) if suffix else path.read_bytes())
    found = find(data)
    assert suggest.write_filled(source, tmp_path / "out.svm", found) == 50
    before, after = path.read_bytes(), (tmp_path / "out.svm").read_bytes()
    expected = label_sets(before)
    for i, k in zip(found.listed.rows.tolist(), found.listed.columns.tolist(), strict=True):
        expected[i].add(int(IDS[k]))
    assert label_sets(after) == expected
    for old, new in zip(before.split(b"\n"), after.split(b"\n"), strict=True):
        first, space, rest = old.partition(b" ")
        assert new.startswith(first)
        assert new.endswith(space + rest)


def test_implied_labels_are_left_out_or_filled_in(data, tmp_path):
    path, _, labels, _ = data
    rules = Implications([(5, 30), (30, 900)])
    found = find(data, Choice(top=10**6), implications=rules)
    listed = csr_array((np.ones(len(found.listed), bool), (found.listed.rows, found.listed.columns)), shape=(N, Q))
    has_narrower = labels.toarray()[:, 1]
    assert not listed.toarray()[has_narrower, 3].any()
    assert listed.toarray()[~has_narrower, 3].any()
    suggest.write_filled(path, tmp_path / "out.svm", found, 0, rules)
    for before, after in zip(
        label_sets(path.read_bytes()), label_sets((tmp_path / "out.svm").read_bytes()), strict=True
    ):
        assert after == before | ({30, 900} if 5 in before else set()) | ({900} if 30 in before else set())


@pytest.mark.parametrize("text", ["narrower\tbroader\n7\t3\n", "7 3 # a comment\n\n# 1 2\n3 1\n", "\ufeff7\t3\r\n"])
def test_a_file_of_implications(tmp_path, text):
    (tmp_path / "implied.tsv").write_text(text, newline="")
    assert 3 in read_implications(tmp_path / "implied.tsv").broader(7)


def test_rules_on_labels_that_are_not_in_use_hand_on_what_they_imply(tmp_path, caplog):
    """Rules may be those of a whole thesaurus. Where none is on labels in use, the first one is an error."""
    names, rules = LabelNames.of({1: ("oaks",), 2: ("plants",)}), tmp_path / "rules.tsv"
    rules.write_text("oaks\ttrees\ntrees\tplants\noaks\tplants\nbeech\ttrees\n")
    implications = read_implications(rules, names)
    assert 2 in implications.broader(1)
    assert implications.labels().tolist() == [2]
    assert caplog.messages == [f"{rules}: 3 lines of 4 with unused labels, such as 'trees'"]
    rules.write_text("oaks\ttrees\ntrees\tplants\n1\t1\n")
    assert 2 in read_implications(rules, names).broader(1)
    rules.write_text("beech\ttrees\n")
    with refused(InputError, "rules.tsv:1: "):
        read_implications(rules, names)
