"""Benchmarks that take seconds, each run to its end: trainings, processes of mpu, a service, figures."""

import sys

import pytest
from click.testing import CliRunner

from benchmarks import few_data, front_figure, predict_many, serve
from tests.cli.training import QUICK, TINY
from tests.conftest import DIGITS, ROOT

pytestmark = pytest.mark.slow


def test_what_is_there_is_not_measured_again(tmp_path, monkeypatch):
    results = tmp_path / "results.tsv"
    given = tmp_path, results, ["digits", "not there"], ["40"], 1, ["mpu", "br"]
    few_data.measure_all(*given)
    lines = results.read_text().splitlines(keepends=True)
    assert lines[0] == "set\tinstances\tmissing\tdraw\tmethod\tmicro_f1\tmacro_f1\tc\tseconds\n"
    assert len(lines) == 1 + len(few_data.RATES) * 2
    results.write_text("".join(lines[:-1]))  # as if it had been stopped
    few_data.measure_all(*given)
    assert results.read_text().splitlines()[:-1] == "".join(lines[:-1]).splitlines()
    assert results.read_text().splitlines()[-1].split("\t")[:7] == lines[-1].split("\t")[:7]
    monkeypatch.setattr(few_data, "measure", lambda *_: pytest.fail("all is there"))
    few_data.measure_all(*given)


def test_a_model_and_data_are_made_and_every_format_is_timed(tmp_path):
    sizes = "--labels", "600", "--features", "300", "--instances", "40", "--repetitions", "1"
    arguments = [str(tmp_path / "many.mpu"), str(tmp_path / "many.svm"), *sizes]
    result = CliRunner().invoke(predict_many.main, arguments, catch_exceptions=False)
    assert result.exit_code == 0
    rows = [line.split(" | ") for line in result.output.splitlines() if line.startswith("|")]
    assert [row[0].removeprefix("| ") for row in rows[2:]] == list(predict_many.FORMS)
    assert "40 instances" in result.output
    lines = (tmp_path / "many.svm.predicted").read_text().splitlines()
    assert len(lines) == 40
    assert all('"labels": ["' in line for line in lines)


def test_every_number_of_clients_has_a_row_and_the_model_is_replaced(run, tmp_path):
    for package in ("starlette", "uvicorn"):
        pytest.importorskip(package)
    (tmp_path / "tiny.svm").write_text(TINY)
    run.ok("train", tmp_path / "tiny.svm", *QUICK, "-q")
    arguments = [str(tmp_path / "tiny.mpu"), str(tmp_path / "tiny.svm"), "--requests", "60", "--growth", "20"]
    result = CliRunner().invoke(serve.main, arguments, catch_exceptions=False)
    assert result.exit_code == 0
    rows = [line.split(" | ") for line in result.output.splitlines() if line.startswith("|")][2:]
    assert [row[0] for row in rows[:-1]] == [f"| {clients}" for clients in serve.CLIENTS]
    assert "the model is replaced" in rows[-1][0]
    assert "after 20 requests more" in result.output


def test_the_table_and_the_figure_are_measured(run, tmp_path, monkeypatch):
    options = "--levels", "1", "--cost", "30", "--epochs", "3"

    def mpu(*arguments: object) -> str:
        return run.ok(*arguments, *(options if arguments[0] == "train" else ())).stdout

    monkeypatch.setattr(front_figure, "mpu", mpu)
    monkeypatch.setattr(front_figure, "RATES", (0, 0.8))
    monkeypatch.setattr(sys, "argv", ["front_figure", *map(str, DIGITS), str(tmp_path / "figure.svg")])
    front_figure.main()
    heading, *rows = [line.split("\t") for line in (tmp_path / "figure.tsv").read_text().splitlines()]
    assert heading == ["missing", *front_figure.WAYS]
    (_, *complete), (_, *incomplete) = [[float(value) for value in row] for row in rows]
    assert [row[0] for row in rows] == ["0", "0.8"]
    assert min(complete) > 0.85
    assert incomplete[0] > incomplete[1] > incomplete[2]


def test_the_figure_names_all_ways_and_the_same_numbers_give_the_same_bytes(tmp_path):
    table = (ROOT / "docs" / "figures" / "missing.tsv").read_text().splitlines()
    assert table[0].split("\t") == ["missing", *front_figure.WAYS]
    rows = [[float(value) for value in line.split("\t")] for line in table[1:]]
    assert [row[0] for row in rows] == list(front_figure.RATES)
    for name in ("a", "b"):
        front_figure.draw(rows, tmp_path / f"{name}.svg")
    drawn = (tmp_path / "a.svg").read_bytes()
    assert drawn == (tmp_path / "b.svg").read_bytes()
    published = (ROOT / "docs" / "figures" / "missing.svg").read_text()
    assert all(f"<!-- {way} -->" in text for way in front_figure.WAYS for text in (drawn.decode(), published))
