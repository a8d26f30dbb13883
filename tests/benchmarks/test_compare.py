import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks import many_labels, run, tools
from benchmarks.compare import compare
from benchmarks.tools import Tool

# "Trains" by copying the labels, "predicts" the labels of the training file, whatever the test file.
COPY = "import sys; a = sys.argv; open(a[2], 'w').writelines(l.split(' ')[0].strip() + chr(10) for l in open(a[1]))"
SCRIPT = (sys.executable, "-c", COPY)
GOOD = Tool("good {x}", (*SCRIPT, "{data}", "{model}"), (*SCRIPT, "{model}", "{output}"))


def failing(name: str, train: str = "pass", predict: str = "pass") -> Tool:
    return Tool(name, (sys.executable, "-c", train), (sys.executable, "-c", predict))


@pytest.fixture
def data(file):
    return file("1,2 1:1\n3 1:1\n", "data.svm")


def test_a_tool_that_fails_does_not_stop_the_others(data, tmp_path):
    bad = failing("bad", train="raise SystemExit('not installed')")
    mute = failing("mute", predict="raise SystemExit('no model')")
    said = []
    results = compare([bad, GOOD, mute], data, data, tmp_path, repetitions=2, timeout=20, say=said.append)
    assert [result.failure for result in results] == ["not installed", "", "prediction: no model"]
    assert [len(result.training) for result in results] == [0, 2, 2]
    assert results[1].micro_f1 == 1
    runs = [
        ("warm-up", "bad"),
        *((run, tool) for run in ("warm-up", "repetition 1", "repetition 2") for tool in ("good {x}", "mute")),
    ]
    assert [tuple(line.split(": ")[:2]) for line in said] == runs


@pytest.mark.parametrize("peers", [tools.peer_tools, many_labels.peer_tools])
def test_peer_scripts_are_there(peers):
    for tool in peers("python"):
        assert {tool.train[0], *tool.predict[:1]} == {"python"}
        script, method = tool.train[1:3]
        assert f'"{method}"' in Path(script).read_text()


@pytest.mark.slow
def test_the_command_writes_table_csv_and_peers_that_are_not_there(data, tmp_path, monkeypatch):
    monkeypatch.setattr(run, "mpu_tools", lambda mpu: [GOOD])
    arguments = [str(data), str(data), "--repetitions", "1", "--output", str(tmp_path / "out")]
    result = CliRunner().invoke(run.main, [*arguments, "--peers", "/no/such/python"])
    assert result.exit_code == 0, result.output
    table = (tmp_path / "out" / "results.md").read_text()
    assert result.stdout == table
    assert "| good {x} |" in table
    assert table.count("| failed: /no/such/python: No such file or directory |") == len(tools.PEER_METHODS)
    assert (tmp_path / "out" / "results.csv").read_text().count("\n") == 2 + len(tools.PEER_METHODS)
