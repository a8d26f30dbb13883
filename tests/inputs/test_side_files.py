"""Files beside the data that are taken for what they are not: what the data contradict is told."""

import pytest

from mpu_cli.inputs.training_data import Sources, read_training_data
from mpu_cli.names.naming import Naming
from mpu_cli.runtime.run import DEFAULT_RUN
from tests.golden import assert_worded


@pytest.fixture
def told(tmp_path, monkeypatch, caplog):
    """Read data of labels 1, with 2 or 3 below it, and 4, with 5 below it, and what a file beside them says."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.svm").write_text("1,2 1:1\n1,3 2:1\n1 3:1\n4,5 1:1\n4 2:1\n4 4:1\n3 1:1\n" * 20)

    def read(text: str, **kinds) -> str:
        (tmp_path / "side").write_text(text)
        caplog.clear()
        read_training_data(Sources("x.svm", **kinds), DEFAULT_RUN)
        return "\n".join(record.message for record in caplog.records)

    return read


@pytest.mark.parametrize(
    ("rules", "is_told"),
    [
        ("2 1\n3 1\n5 4\n", False),
        ("1 2\n1 3\n4 5\n", True),
        ("2\t1\n", False),
        ("2 1\n1 3\n3 2\n", True),
        ("2 2\n3 1\n5 4\n", True),
    ],
)
def test_rules_that_the_annotations_contradict_or_that_go_in_a_circle(told, rules, is_told):
    text = told(rules, implied="side")
    assert bool(text) == is_told
    assert not text or assert_worded(text) is None


def test_a_label_0_that_does_not_occur(told):
    assert told("a\nb\nc\nd\ne\n", naming=Naming("side")) == ""
    assert_worded(told("zero\na\nb\nc\nd\ne\n", naming=Naming("side")))
    assert told("zero\na\nb\nc\nd\ne\n", naming=Naming("side", zero_based=True)) == ""
