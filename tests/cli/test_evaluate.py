import json
import re
import subprocess

import numpy as np
import pytest

TRUTH = b"3,7 1:0.5 4:2\n1 2:1\n 3:1\n7 1:1\n"
LABELS = "7\n1,3\n\n7\n"
SCORES = "7:0.9 3:0.4 1:0.1\n1:0.8 3:0.6 7:0.2\n3:0.1\n3:0.7 7:0.6\n"


@pytest.fixture
def files(tmp_path):
    """Truth, label lists and scores."""
    contents = {"truth.svm": TRUTH.decode(), "labels.txt": LABELS, "scores.txt": SCORES}
    for name, text in contents.items():
        (tmp_path / name).write_text(text)
    return [tmp_path / name for name in contents]


def label_lines(sets) -> str:
    """Label lists of an indicator matrix, a line each; labels start at 1."""
    return "".join(",".join(map(str, np.flatnonzero(row) + 1)) + "\n" for row in sets)


def test_metrics_that_are_too_low_have_an_exit_status(run, files):
    truth, labels, _ = files
    least = "--json", "--fail-below"
    run.ok("evaluate", truth, labels, *least, "micro_f1=0.1")
    result = run("evaluate", truth, labels, *least, "micro_f1=0.1", "--fail-below", "macro_f1=0.99")
    assert (result.exit_code, result.stderr) == (3, "error: macro_f1 is 0.6667, below 0.99\n")
    assert json.loads(result.stdout)["macro_f1"] < 0.99
    assert run("evaluate", truth, labels, *least, "ndcg_at_1=0.5").exit_code == 1  # it has no scores


@pytest.mark.parametrize("step", [-1, 1])
def test_labels_of_another_base_are_warned_of(run, tmp_path, step):
    truth, predicted = tmp_path / "truth.svm", tmp_path / "predicted"
    sets = [(k, k + 2) for k in range(1, 6)] * 2
    truth.write_text("".join(f"{a},{b} 1:0.5\n" for a, b in sets))
    predicted.write_text("".join(f"{a + step},{b + step}\n" for a, b in sets))
    result = run.ok("evaluate", truth, predicted)
    assert f"labels are 1 to 7 in TRUTH and {1 + step} to {7 + step} in PREDICTIONS" in result.stderr
    command = re.search(r"perl .*'", result.stderr)[0]
    truth.write_bytes(subprocess.run(f"{command} {truth}", shell=True, check=True, capture_output=True).stdout)
    result = run("evaluate", truth, predicted, "--json")
    assert (json.loads(result.stdout)["micro_f1"], result.stderr) == (1, "")
