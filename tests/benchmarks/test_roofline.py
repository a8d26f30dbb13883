import pytest
from click.testing import CliRunner

pytest.importorskip("numba")
from benchmarks import limits, roofline
from benchmarks.corpus import Corpus
from benchmarks.generate import TRAIN, write
from benchmarks.limits import Machine


def test_the_command_runs_all_kernels_on_a_file(tmp_path, monkeypatch):
    path = tmp_path / "x.svm"
    write(Corpus(features=500, labels=20), TRAIN, 50, path)
    monkeypatch.setattr(limits, "measure", lambda threads: Machine(threads, 2e9, 4e9, 5e9))
    result = CliRunner().invoke(roofline.main, [str(path), "--threads", "2", "--kernel", "numpy"])
    assert result.exit_code == 0, result.output
    assert "| 2 | 2.0 | 4.0 | 5 |" in result.stdout
    rows = [line.split("|")[1].strip() for line in result.stdout.splitlines() if line.count("|") == 10]
    assert rows == ["kernel", "---", "parse", "epoch", "predict"]
