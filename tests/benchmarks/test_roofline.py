import numpy as np
import pytest
from click.testing import CliRunner

pytest.importorskip("numba")
from benchmarks import limits, roofline, work
from benchmarks.corpus import Corpus
from benchmarks.generate import TRAIN, write
from benchmarks.limits import Machine
from benchmarks.work import Work


def test_counts_of_an_epoch():
    counted = work.epoch(instances=2, features=4, nnz=3, labels=5)
    data, row = 3 * 8 + 2 * 4, 5 * 4
    assert counted.memory == data + 2 * 4 * row
    assert counted.traffic == 2 * data + 3 * 3 * row
    assert counted.operations == 2 * 2 * 3 * 5 + 10 * 2 * 5


def test_a_prediction_has_half_the_multiplications_of_an_epoch():
    sizes = {"instances": 0, "features": 4, "nnz": 3, "labels": 5}
    assert work.prediction(**sizes).operations * 2 == work.epoch(**sizes).operations


def test_parsing_moves_text_and_entries():
    assert work.parsing(1000, instances=2, nnz=3).memory == 1000 + 3 * 8 + 2 * 4


def test_shares_of_the_limits():
    machine = Machine(threads=2, bandwidth=100.0, cached=400.0, arithmetic=50.0)
    shares = roofline.shares(Work(memory=100, traffic=400, operations=10), seconds=2.0, machine=machine)
    assert shares == {"memory": 0.5, "traffic": 0.5, "arithmetic": 0.1}


@pytest.mark.parametrize("threads", [1, 2])
def test_the_triad_covers_the_arrays(threads, monkeypatch):
    made = []
    full = np.full
    monkeypatch.setattr(np, "full", lambda *args: made.append(full(*args)) or made[-1])
    assert limits.bandwidth(threads, repetitions=1, doubles=40_001) > 0
    np.testing.assert_array_equal(made[0], 1.0 + (limits._ROUNDS - 1) * 2.0)


def test_the_rate_of_a_matrix_product():
    assert limits.arithmetic(threads=1, repetitions=1, size=50) > 0


def test_the_command_runs_all_kernels_on_a_file(tmp_path, monkeypatch):
    path = tmp_path / "x.svm"
    write(Corpus(features=500, labels=20), TRAIN, 50, path)
    monkeypatch.setattr(limits, "measure", lambda threads: Machine(threads, 2e9, 4e9, 5e9))
    result = CliRunner().invoke(roofline.main, [str(path), "--threads", "2", "--kernel", "numpy"])
    assert result.exit_code == 0, result.output
    assert "| 2 | 2.0 | 4.0 | 5 |" in result.stdout
    rows = [line.split("|")[1].strip() for line in result.stdout.splitlines() if line.count("|") == 10]
    assert rows == ["kernel", "---", "parse", "epoch", "predict"]
