import numpy as np
import pytest
from scipy.stats import ttest_1samp

from mpu_cli.experiment.cells import markdown, panels, seconds_of, short_names
from tests.experiment.small import row


def scores(method, rate, *values, **others):
    return [row(method, rate, fold, f1=value, **others) for fold, value in enumerate(values)]


def line(text: str, *starts: str) -> str:
    """The first line that begins with these cells."""
    (found, *_) = [line for line in text.splitlines() if line.startswith("| " + " | ".join(starts) + " |")]
    return found


ROWS = [
    *scores("br", 0.0, 0.5, 0.7),
    *scores("br", 0.3, 0.5, 0.5),
    *scores("mpu", 0.0, 0.4, 0.6),
    *scores("mpu", 0.3, 0.6, 0.8),
    *scores("well", 0.0, 0.1, 0.1),
]


def test_means_and_deviations_with_the_best_in_bold():
    text = markdown(ROWS)
    spread = np.std([0.5, 0.7], ddof=1)
    assert line(text, "br") == f"| br | **0.600 ± {spread:.3f}** | 0.500 ± 0.000 |"
    assert line(text, "mpu") == f"| mpu | 0.500 ± {spread:.3f} | **0.700 ± {spread:.3f}** |"


def test_a_method_without_a_result_has_an_empty_cell():
    assert line(markdown(ROWS), "well").endswith("|  |")


def test_the_first_method_is_compared_with_each_other():
    rows = [*scores("br", 0.0, 0.50, 0.52, 0.55), *scores("mpu", 0.0, 0.56, 0.60, 0.58)]
    interval = ttest_1samp([-0.06, -0.08, -0.03], 0).confidence_interval(0.95)
    mean, wider = -0.17 / 3, ((1 / 3 + 1 / 4) * 3) ** 0.5
    low, high = (mean + (end - mean) * wider for end in interval)
    text = markdown(rows, folds=5)
    assert "| br minus the method, with 95 % interval | 0% |" in text
    assert f"| mpu | -0.0567 ({low:+.4f} to {high:+.4f}) |" in text


def test_a_difference_of_shares_is_within_1():
    text = markdown(ROWS, folds=5)
    assert line(text, "mpu", "+0.1000 (+0.1000 to +0.1000)").endswith("| -0.2000 (-1.0000 to +1.0000) |")
    assert line(text, "well", "+0.5000 (-1.0000 to +1.0000)").endswith("|  |")


def test_only_folds_that_both_have_are_paired():
    rows = [*scores("br", 0.0, 0.5, 0.9, 0.5), *scores("mpu", 0.0, 0.6), row("mpu", 0.0, 1, error="no")]
    assert line(markdown(rows), "mpu", "-0.1000") == "| mpu | -0.1000 |"


def test_failures_are_listed_once_a_cell_with_their_reason():
    rows = [row(), *(row("well", fold=f, error="too|large") for f in (0, 1))]
    assert "| well | 60 | 2 | too\\|large |" in markdown(rows)
    assert "Failed" not in markdown([row()])


def test_methods_are_rows_and_sizes_are_tables_of_their_own():
    rows = [row(method, instances=n) for n in (60, 6000) for method in ("br", "br:tuned=True")]
    text = markdown(rows)
    assert [(panel.instances, panel.methods) for panel in panels(rows)] == [
        (n, ["br", "br:tuned=True"]) for n in (60, 6000)
    ]
    assert "## Micro-F1, 6,000 instances" in text
    assert line(text, "br:tuned=True") == "| br:tuned=True | **0.500** |"


def test_exponents_where_there_are_several_sizes():
    rows = [row(instances=n, seconds=2e-6 * n**2, fold=fold) for n in (100, 200, 400) for fold in (0, 1)]
    assert seconds_of(rows, "fit") == {"br": {n: pytest.approx(2e-6 * n**2) for n in (100, 200, 400)}}
    assert "| br | 2.00 ± 0.00 | 100 to 400 |" in markdown(rows)
    assert "power" not in markdown(rows[:2])


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["mpu", "br"], ["mpu", "br"]),
        (["mpu:c=0.7:cost=100", "br:cost=100"], ["mpu", "br"]),
        (["mpu", "mpu:levels=1"], ["mpu", "mpu, levels=1"]),
        (["mpu:c=0.7", "mpu:levels=1:c=0.7"], ["mpu", "mpu, levels=1"]),
        (["mpu:levels=1:c=1", "mpu:levels=2:c=1"], ["mpu, levels=1", "mpu, levels=2"]),
        (["a.b:C:n=1", "a.b:D:n=1"], ["a.b:C", "a.b:D"]),
    ],
)
def test_names_have_what_tells_methods_apart(labels, expected):
    assert list(short_names(labels).items()) == list(zip(labels, expected, strict=True))
