import pytest

from benchmarks import few_data

HEADER = "set\tinstances\tmissing\tdraw\tmethod\tmicro_f1\tmacro_f1\tc\tseconds\n"


@pytest.mark.slow  # eleven trainings with default options
def test_what_is_there_is_not_measured_again(tmp_path, monkeypatch):
    results = tmp_path / "results.tsv"
    given = tmp_path, results, ["digits", "not there"], ["40"], 1, ["mpu", "br"]
    few_data.measure_all(*given)
    lines = results.read_text().splitlines(keepends=True)
    assert lines[0] == HEADER
    assert len(lines) == 1 + len(few_data.RATES) * 2
    results.write_text("".join(lines[:-1]))  # as if it had been stopped
    few_data.measure_all(*given)
    assert results.read_text().splitlines()[:-1] == "".join(lines[:-1]).splitlines()
    assert results.read_text().splitlines()[-1].split("\t")[:7] == lines[-1].split("\t")[:7]
    monkeypatch.setattr(few_data, "measure", lambda *_: pytest.fail("all is there"))
    few_data.measure_all(*given)
