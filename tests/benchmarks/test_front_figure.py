"""The figure of the README: measured by the commands, drawn from what they give."""

import sys

import pytest

from benchmarks import front_figure
from tests.conftest import DIGITS, ROOT

pytestmark = pytest.mark.slow  # six trainings, three drawings
QUICK = ("--levels", "1", "--cost", "30", "--epochs", "3")


def test_the_table_and_the_figure_are_measured(run, tmp_path, monkeypatch):
    def mpu(*arguments: object) -> str:
        result = run(*arguments, *(QUICK if arguments[0] == "train" else ()))
        assert result.exit_code == 0, result.stderr
        return result.stdout

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
