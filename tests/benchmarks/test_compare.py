import csv
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks import report, run, tools
from benchmarks.compare import Result, compare
from benchmarks.measure import Usage
from benchmarks.tools import Tool
from tests.conftest import ROOT

# "Trains" by copying the labels, "predicts" the labels of the training file, whatever the test file.
COPY = "import sys; a = sys.argv; open(a[2], 'w').writelines(l.split(' ')[0].strip() + chr(10) for l in open(a[1]))"
SCRIPT = (sys.executable, "-c", COPY)
GOOD = Tool("good {x}", (*SCRIPT, "{data}", "{model}"), (*SCRIPT, "{model}", "{output}"))


def failing(name: str, train: str = "pass", predict: str = "pass") -> Tool:
    return Tool(name, (sys.executable, "-c", train), (sys.executable, "-c", predict))


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data.svm"
    path.write_text("1,2 1:1\n3 1:1\n")
    return path


def measured(name: str, *seconds: float, micro_f1: float = 0.5) -> Result:
    usages = [Usage(s, 3_000_000, 2_000_000, s) for s in seconds]
    return Result(name, usages, Usage(0.25, 1, 1, 0.25), micro_f1)


def test_a_tool_that_fails_does_not_stop_the_others(data, tmp_path):
    bad = failing("bad", train="raise SystemExit('not installed')")
    mute = failing("mute", predict="raise SystemExit('no model')")
    said = []
    results = compare([bad, GOOD, mute], data, data, tmp_path, repetitions=2, timeout=20, say=said.append)
    assert [result.failure for result in results] == ["not installed", "", "prediction: no model"]
    assert [len(result.training) for result in results] == [0, 2, 2]
    assert results[1].micro_f1 == 1
    assert [line.split(":")[:2] for line in said] == [
        ["warm-up", " bad"],
        ["warm-up", " good {x}"],
        ["warm-up", " mute"],
        ["repetition 1", " good {x}"],
        ["repetition 1", " mute"],
        ["repetition 2", " good {x}"],
        ["repetition 2", " mute"],
    ]


def test_an_old_model_is_removed_before_a_training(data, tmp_path):
    folder = tmp_path / "picky"
    make = "import os, sys; os.mkdir(sys.argv[1])"
    copy = "import shutil, sys; shutil.copy(*sys.argv[1:])"
    picky = Tool("picky", (sys.executable, "-c", make, "{model}"), (sys.executable, "-c", copy, "{data}", "{output}"))
    (result,) = compare([picky], data, data, tmp_path, repetitions=2, timeout=20, say=lambda line: None)
    assert (result.failure, result.micro_f1) == ("", 1)
    assert folder.is_dir()


def test_the_table_has_ratios_to_the_first_tool_that_worked():
    results = [Result("a", failure="x | y"), measured("b", 1.0, 3.0, 2.0), measured("c", 5.0, micro_f1=0.75)]
    lines = report.markdown(results).splitlines()
    assert lines[2:] == [
        "| a | failed: x / y |  |  |  |  |  |",
        "| b | 1.00 | 1.00 | 0.5000 | 0.25 | 3 | 2 |",
        "| c | 5.00 | 5.00 | 0.7500 | 0.25 | 3 | 2 |",
    ]
    assert {line.count("|") for line in lines} == {8}


def test_csv(tmp_path):
    report.write_csv([measured("b, c", 1.0, 3.0, 2.0), Result("a", failure="gone")], tmp_path / "x.csv")
    with (tmp_path / "x.csv").open() as stream:
        first, second = csv.DictReader(stream)
    assert first["tool"] == "b, c"
    assert [float(first[key]) for key in ("seconds", "seconds_max", "ratio")] == [1, 3, 1]
    assert (first["max_rss_bytes"], first["anonymous_bytes"], first["failure"]) == ("3000000", "2000000", "")
    assert (second["tool"], second["seconds"], second["failure"]) == ("a", "", "gone")


def test_plot(tmp_path):
    pytest.importorskip("matplotlib")
    report.plot([measured("mpu", 1.0), measured("b", 2.0), Result("a", failure="gone")], tmp_path / "x.png")
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")


def test_mpu_runs_with_each_kernel_where_it_can_be_chosen():
    old, new = (
        list(tools.mpu_tools((sys.executable, "-c", f"print({manual!r})"))) for manual in ("--levels", "--kernel TEXT")
    )
    assert [tool.name for tool in old] == [f"mpu, {setting}" for setting in tools.MPU_SETTINGS]
    assert [tool.name for tool in new[: len(old)]] == [f"mpu numba, {setting}" for setting in tools.MPU_SETTINGS]
    assert len(new) == 2 * len(old)
    assert new[-1].train[-2:] == new[-1].predict[-2:] == ("--kernel", "numpy")
    assert "--kernel" not in old[0].train


def test_peer_scripts_are_there():
    for tool in tools.peer_tools("python"):
        assert tool.train[0] == tool.predict[0] == "python"
        assert f'"{tool.train[2]}"' in Path(tool.train[1]).read_text()


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


def test_only_takes_tools_by_name(data, tmp_path, monkeypatch):
    monkeypatch.setattr(run, "mpu_tools", lambda mpu: [GOOD])
    result = CliRunner().invoke(run.main, [str(data), str(data), "--only", "nothing"])
    assert result.exit_code == 2
    assert "good {x}" in result.stderr


def test_the_runner_stays_small():
    # Its own memory would count as that of the tools.
    code = "import sys, benchmarks.run; sys.exit('numpy' in sys.modules or 'matplotlib' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
