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
BLANK = "," * (len(METRICS) + 4) + "0,1.0.0,no"
LINE = "small,br,0.0,0,60"
CELLS = [cells.cell_of(row(fold=fold)) for fold in range(3)]
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


@pytest.fixture
def path(tmp_path):
    return tmp_path / "results.csv"


def test_without_a_file_no_cell_is_finished(path):
    assert cells.finished(path, CELLS) == []
    cells.write_rows(path, [])
    assert path.read_text() == HEADER + "\n"


@settings(max_examples=examples(25))
@given(st.lists(rows, max_size=5, unique_by=cells.cell_of))
def test_what_is_written_is_read_again(tmp_path_factory, written):
    path = tmp_path_factory.mktemp("results") / "results.csv"
    cells.write_rows(path, written)
    assert cells.finished(path, [*map(cells.cell_of, written)]) == written


@pytest.mark.parametrize("cut", [1, 20])
def test_a_half_written_last_line_is_dropped(path, cut):
    cells.write_rows(path, [row(fold=0), row(fold=1)])
    path.write_bytes(path.read_bytes()[:-cut])
    assert cells.finished(path, CELLS) == [row(fold=0)]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f"{HEADER}\nsmall,br\n", 2),
        (f"{HEADER}\n{LINE}{BLANK}\nsmall,br,zero,0,60{BLANK}\n", 3),
        (f"{HEADER}\nsmall,br,0.0,0.5,60{BLANK}\n", 2),
        (f"{HEADER}\n\xff\n", 2),
        (f"{HEADER}\nsmall,br,0.0,7,60{BLANK}\n", 2),
        (f"{HEADER}\n{LINE}{BLANK.removesuffix('no')}\n", 2),  # without its times
        (f"{HEADER}\n{LINE}{BLANK}\n{LINE}{BLANK}\n", 3),
    ],
)
def test_other_lines_are_errors_with_their_number(path, text, line):
    path.write_text(text, encoding="latin-1")
    with pytest.raises(InputError, match=f"results.csv:{line}: .*remove it"):
        cells.finished(path, CELLS)
    assert path.read_text(encoding="latin-1") == text


def test_no_cell_begins_as_a_formula(path):
    written = row("=cmd:a=1", error="-1 is too small") | {"dataset": "@news"}
    cells.write_rows(path, [written])
    with path.open(newline="") as stream:
        (found,) = csv.DictReader(stream)
    assert not [text for text in found.values() if text.startswith(("=", "+", "-", "@"))]
    assert cells.finished(path, [cells.cell_of(written)]) == [written]


def test_links_in_the_folder_are_not_followed(path, tmp_path):
    other = tmp_path / "other"
    other.write_text("mine")
    path.symlink_to(other)
    with pytest.raises(InputError, match="not a regular file"):
        cells.finished(path, CELLS)
    cells.write_rows(path, [row()])
    assert (path.is_symlink(), other.read_text()) == (False, "mine")


@pytest.mark.parametrize("text", ["", "[1]", "[" * 100_000, None])
def test_settings_that_are_none_are_an_error(tmp_path, text):
    path = tmp_path / "settings.json"
    if text is None:
        os.mkfifo(path)  # which is not waited for
    else:
        path.write_text(text)
    with pytest.raises(InputError, match=r"settings\.json: .*give another --out"):
        cells.keep_settings(path, {})
