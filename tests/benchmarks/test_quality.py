import json

import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks.quality import main


@pytest.fixture
def files(tmp_path):
    """Two test instances: label 1 of the first is found, label 3 of the second is third."""
    texts = {
        "train": "1 1:1\n1 1:1\n1,2 1:1\n3 1:1\n",
        "test": "1 1:1\n3 1:1\n",
        "scores": "1:0.75 2:0.25\n1:0.9 2:0.6 3:0.5\n",
        "labels": "1\n2\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    return [str(tmp_path / name) for name in texts]


def quality(*arguments):
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    return json.loads(result.output)


def test_quality_by_hand(files):
    found = quality(*files[:3], "--label-sets", files[3])
    assert (found["precision_at_1"], found["precision_at_3"]) == (0.5, pytest.approx(2 / 6))
    assert (found["micro_f1"], found["macro_f1"]) == (0.5, pytest.approx(1 / 3))  # macro: of labels 1, 2 and 3
    assert found["best_micro_f1"] == pytest.approx(2 * 2 / (2 + 4))  # 0.9, 0.75, 0.6 and 0.5 against two labels
    scale = (np.log(4) - 1) * 2.5**0.55
    frequent, rare = (1 + scale * (n + 1.5) ** -0.55 for n in (3, 1))
    assert found["psp_at_1"] == pytest.approx(frequent / (frequent + rare))
    assert found["psp_at_3"] == pytest.approx(1)


def test_a_threshold_is_a_rule_too_and_no_rule_is_none(files):
    assert quality(*files[:3], "--threshold", "0.6")["micro_f1"] == pytest.approx(2 / (3 + 2))
    assert "micro_f1" not in quality(*files[:3])
