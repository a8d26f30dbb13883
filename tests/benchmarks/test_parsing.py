import pytest

pytest.importorskip("numba")
from benchmarks import parsing


def test_every_reader_reads_the_file_in_every_round(tmp_path, monkeypatch):
    data = tmp_path / "tiny.svm"
    data.write_text("1,2 1:1 2:0.5\n2 2:1\n")
    read = []
    clock = iter(range(1000))
    monkeypatch.setattr(parsing.time, "perf_counter", lambda: next(clock))
    monkeypatch.setattr(parsing, "load_svmlight_file", lambda path, multilabel: read.append("scikit-learn"))
    monkeypatch.setattr(parsing, "Run", dict)
    monkeypatch.setattr(parsing, "read", lambda path, run: read.extend((run["kernel"], run["jobs"])))
    rates = parsing.rates(data, threads=2, rounds=3)
    assert read == ["scikit-learn", "numpy", 1, "numpy", 2, "numba", 1, "numba", 2] * 4
    assert rates == dict.fromkeys(
        [parsing.PEER, "mpu numpy, --jobs 1", "mpu numpy, --jobs 2", "mpu numba, --jobs 1", "mpu numba, --jobs 2"],
        data.stat().st_size,
    )


def test_the_table_has_ratios():
    lines = parsing.table({parsing.PEER: 50e6, "mpu numba, --jobs 1": 600e6}).splitlines()
    assert lines[2:] == [f"| {parsing.PEER} | 50 | 1.0 |", "| mpu numba, --jobs 1 | 600 | 12.0 |"]
