import json
import sys

import pytest
from click.testing import CliRunner

from benchmarks import many_labels
from benchmarks.many_labels import Tool
from tests.conftest import ROOT

pytestmark = pytest.mark.slow  # four to thirteen processes each
# "Learns" by copying the data to a directory; ranks the first label of each line of that first, or 98.
LEARN = "import os, shutil, sys; a = sys.argv; os.mkdir(a[2]); shutil.copy(a[1], a[2] + '/copy')"
RANK = (
    "import sys; a = sys.argv; lines = [l.split(' ')[0].split(',')[0] or 98 for l in open(a[1] + '/copy')]\n"
    "open(a[2], 'w').writelines('%s:0.9 99:0.8\\n' % l for l in lines)"
)
TOOL = Tool(
    "copies",
    (sys.executable, "-c", LEARN, "{data}", "{model}"),
    (sys.executable, "-c", RANK, "{model}", "{output}", "{labels}"),
    threshold=0.85,
)


DATA = "1,2 1:1\n3 1:1\n3,4 7:1\n5 1:1\n"


@pytest.fixture
def run(tmp_path, monkeypatch):
    data = tmp_path / "data.svm"
    data.write_text(DATA)
    monkeypatch.setattr(many_labels, "mpu_tool", lambda arguments: TOOL)
    monkeypatch.chdir(ROOT)

    def invoke(*options):
        output = tmp_path / "out"
        result = CliRunner().invoke(many_labels.main, [str(data), str(data), "--mpu", "x", "-o", str(output), *options])
        assert result.exit_code == 0, result.output
        return json.loads((output / "results.json").read_text()), (output / "results.md").read_text()

    return invoke


def test_a_tool_is_measured_and_tabled(run):
    results, table = run()
    found = results["copies"]
    assert (found["precision_at_1"], found["micro_f1"]) == (1, pytest.approx(2 * 4 / (4 + 6)))
    assert found["model_bytes"] == len(DATA)
    assert found["seconds"] == pytest.approx(found["train_seconds"] + found["predict_seconds"])
    header, line = table.splitlines()[2], table.splitlines()[-1]
    assert line.startswith("| copies |")
    assert header.count("|") == line.count("|")


def test_peers_that_are_not_there_do_not_stop_the_others(run):
    results, table = run("--peers", "/no/such/python")
    assert isinstance(results["copies"], dict)
    assert results["PECOS XR-Linear"] == "/no/such/python: No such file or directory"
    assert len({line.count("|") for line in table.splitlines()[2:]}) == 1


def test_labels_are_removed_from_what_tools_learn_only(run, tmp_path):
    results, table = run("--missing", "0.5")
    left = (tmp_path / "out" / "data-missing.svm").read_text()
    assert "50% of the training labels removed" in table
    assert sum(len(line.split(" ")[0].split(",")) for line in left.splitlines() if line[0] != " ") == 3
    assert results["copies"]["precision_at_1"] < 1  # of the complete test labels
