"""The scripts of the gallery run without a warning, and their pages say of them what is so."""

import runpy

import numpy as np
import pytest

from tests.examples.conftest import EXAMPLES

pytestmark = pytest.mark.slow
GALLERY = EXAMPLES / "gallery"


@pytest.fixture
def after(monkeypatch):
    """Run a script where nothing is shown; give its variables."""
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("Agg")
    monkeypatch.setattr(pyplot, "show", lambda: pyplot.close("all"))
    return lambda name: runpy.run_path(str(GALLERY / f"{name}.py"))


def test_arrays(after):
    seen = after("arrays")
    assert seen["usual_f1"] < 0.7 < 0.9 < seen["model_f1"]
    assert seen["plain_f1"] < 0.5 < 0.8 < seen["forest_f1"]
    assert np.abs(seen["model"].c_ - 0.5).max() < 0.03
    expected, true = np.cumsum(seen["missing"].probabilities), np.cumsum(seen["right"])
    assert (expected < true + 0.05 * true[-1]).all()  # nobody has decided anything
    assert expected[-1] > 0.7 * true[-1]
    assert abs(seen["corrected_f1"] - seen["model_f1"]) < 0.05 < seen["model_f1"] - seen["by_annotations"]


def test_missing_share(after):
    seen = after("missing_share")
    usual, ours = (np.array(values) for values in seen["f1"].values())
    assert (np.diff(usual) < 0).all()
    assert ours.min() > ours[0] - 0.05
    assert np.abs(np.subtract(seen["estimated"], seen["shares"])).max() < 0.05


def test_forest(after):
    seen = after("forest")
    assert seen["agrees"]["forest alone"] < 0.75 < 0.9 < seen["agrees"]["with missing labels in mind"]


def test_questions(after):
    seen = after("questions")
    (_, (low, _)), (_, of_40), (_, of_200) = seen["estimates"].values()
    assert low > seen["true_c"]
    assert all(lowest < seen["true_c"] < highest for lowest, highest in (of_40, of_200))
    assert np.diff(of_200) < np.diff(of_40)


def test_calibration(after):
    gaps = after("calibration")["gaps"]
    for stratum in {stratum for stratum, _ in gaps}:
        usual, ours = (gap for (of, _), gap in gaps.items() if of == stratum)
        assert ours < usual / 2


def test_thresholds(after):
    seen = after("thresholds")
    best = seen["best"]
    assert abs(best["corrected by c"] - best["by true labels"]) < 0.1 < best["by annotations"] - best["by true labels"]
    assert seen["macro"]["macro-f1"] > seen["macro"]["pu-f1"] + 0.03


def test_why(after):
    seen = after("why")
    assert seen["true_share"] > 0.9
    assert all(word in seen["WORDS"][label].split() for label, word in seen["reasons"])


def test_groups(after):
    seen = after("groups")
    of_groups = seen["by_group"].group_c_
    assert all(abs(of_groups[name] - c) < 0.07 for name, c in seen["true_c"].items())
    (true, *_), (one, *_), (by_group, *_) = seen["numbers"].values()  # of the library
    assert abs(by_group - true) < (one - true) / 2
