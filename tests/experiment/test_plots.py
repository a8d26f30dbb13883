from xml.etree import ElementTree

import pytest

from tests.experiment.small import row

pytest.importorskip("matplotlib")

from mpu_cli.experiment.plots import draw, literal
from tests.folders import contents, names

RATES = [row(method, rate, fold) for method in ("mpu", "br:cost=1") for rate in (0.0, 0.3) for fold in (0, 1)]


def both(*stems: str) -> set[str]:
    return {f"{stem}.{suffix}" for stem in stems for suffix in ("png", "svg")}


def test_metrics_against_missing_rates(tmp_path):
    corrected = [one | {"corrected_micro_f1": 0.9, "corrected_macro_f1": 0.8} for one in RATES]
    draw(corrected, tmp_path)
    assert names(tmp_path) == both("micro_f1", "macro_f1", "corrected_micro_f1", "corrected_macro_f1")
    assert (tmp_path / "micro_f1.png").read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in (tmp_path / "macro_f1.svg").read_bytes()


@pytest.mark.slow
def test_time_against_sizes_which_have_figures_of_their_own(tmp_path):
    rows = [*RATES, *(row(seconds=n / 100, rate=rate, instances=n) for rate in (0.0, 0.3) for n in (60, 120))]
    written = draw(rows, tmp_path, ["png"])  # and only the formats that are asked for
    figures = "micro_f1-60", "macro_f1-60", "micro_f1-120", "macro_f1-120", "time"
    assert {path.name for path in written} == names(tmp_path) == {f"{figure}.png" for figure in figures}


def test_a_figure_is_one_column_wide_and_says_what_it_shows(tmp_path):
    full = ["mpu:c=0.5:cost=1", "mpu:levels=1:c=0.5:cost=1", "br:cost=1"]
    draw([row(method, rate, fold) for method in full for rate in (0.0, 0.3) for fold in (0, 1, 2)], tmp_path, ["svg"])
    text = (tmp_path / "micro_f1.svg").read_text()
    assert 'width="237.6pt"' in text  # 3.3 inches
    said = "mean and standard deviation over 3 folds", "small, 60 instances", ">mpu<", ">mpu, levels=1<", ">br<"
    assert all(words in text for words in said)
    assert "cost" not in text


@pytest.mark.slow
def test_the_same_rows_give_the_same_bytes(tmp_path):
    for name in "ab":
        (tmp_path / name).mkdir()
        draw(RATES, tmp_path / name, ["png", "svg", "pdf"])
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


@pytest.mark.slow
def test_names_are_shown_as_they_are(tmp_path):
    dataset, *methods = "_hidden", r"$\frac{", "a$b$c", "\x01\x1b[31m", "\N{RIGHT-TO-LEFT OVERRIDE}x"
    rows = [*(row(method, rate) for method in methods for rate in (0.0, 0.3)), row(methods[0], instances=100)]
    draw([one | {"dataset": dataset} for one in rows], tmp_path, ["svg"])
    for path in tmp_path.glob("*.svg"):
        texts = [text.text for text in ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}text")]
        for name in (dataset, *methods):
            assert any(text.startswith(literal(name).replace(r"\$", "$")) for text in texts)
