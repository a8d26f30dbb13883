import csv
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mpu_cli.errors import InputError, one_line
from mpu_cli.experiment import cells
from mpu_cli.experiment.cells import METRICS
from tests.experiment.small import row
from tests.hypotheses import examples

HEADER = (
    f"dataset,method,missing_rate,fold,instances,{','.join(METRICS)},fit_seconds,predict_seconds,c,seed,version,error"
)
words = (st.text(min_size=1) | st.sampled_from(["=1+1", "'=1", '"a', "-", "@b\tc"])).map(one_line)
shares = st.floats(0, 1)
whole = st.integers(0, 99)
of_all = {
    "dataset": words, "method": words, "missing_rate": shares, "fold": whole,
    "instances": st.integers(1, 10**9), "seed": whole, "version": words,
}  # fmt: skip
numbers = {"fit_seconds": st.floats(0, 1e9), "predict_seconds": st.floats(0, 1e9), "c": shares, "error": st.just("")}
rows = st.fixed_dictionaries(of_all | numbers, optional=dict.fromkeys(METRICS, shares)) | (
    st.fixed_dictionaries(of_all | {"error": words})
)


SETTINGS = {"seed": 0, "methods": ("br", "mpu")}


def test_without_a_file_no_cell_is_finished(tmp_path):
    assert cells.finished(tmp_path, SETTINGS) == []
    cells.save(tmp_path, SETTINGS, [])
    assert (tmp_path / "results.csv").read_text() == HEADER + "\n"


@settings(max_examples=examples(25))
@given(st.lists(rows, max_size=5))
def test_what_is_written_is_read_again_but_failures(tmp_path_factory, written):
    folder = tmp_path_factory.mktemp("results")
    cells.save(folder, SETTINGS, written)
    assert cells.finished(folder, SETTINGS) == [row for row in written if not row["error"]]
    with (folder / "results.csv").open(newline="") as stream:
        assert len(list(csv.DictReader(stream))) == len(written)


def test_a_record_that_is_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "experiment.json")
    with pytest.raises(InputError, match=r"experiment\.json: .*give another --out"):
        cells.finished(tmp_path, SETTINGS)


def test_no_cell_begins_as_a_formula(tmp_path):
    cells.save(tmp_path, SETTINGS, [row("=cmd:a=1", error="-1 is too small") | {"dataset": "@news"}])
    with (tmp_path / "results.csv").open(newline="") as stream:
        (found,) = csv.DictReader(stream)
    assert not [text for text in found.values() if text.startswith(("=", "+", "-", "@"))]


@pytest.mark.parametrize("name", ["results.csv", "experiment.json"])
def test_links_and_results_of_others_are_left_alone(tmp_path, name):
    other, path = tmp_path / "other", tmp_path / name
    other.write_text("mine")
    path.symlink_to(other)
    with pytest.raises(InputError, match="give another --out"):
        cells.finished(tmp_path, SETTINGS)
    cells.save(tmp_path, SETTINGS, [row()])
    assert (path.is_symlink(), other.read_text()) == (False, "mine")
