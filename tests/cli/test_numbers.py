"""Extreme numbers, from the text of a file to its predictions: all is finite."""

import numpy as np
import pytest

from mpu_cli.bundle import load
from mpu_cli.svmlight.reader import read
from tests.cli.training import QUICK


def lines(exponent: int = 0) -> str:
    """Thirty instances with two labels; values are of the order of ten to the exponent."""
    labels = ["1,2" if i % 6 == 0 else "1" if i % 2 == 0 else "2" if i % 3 == 0 else "" for i in range(30)]
    return "".join(f"{label} 1:{i % 2 + 1}.5e{exponent} 2:-{i % 3}.25e{exponent}\n" for i, label in enumerate(labels))


DATA = {  # of texts; tests/core has more of numbers
    "1e37": lines(37),
    "1e-300, which is 0": lines(-300),
    "1e38 at once with 1e-38": lines() + "1 2:1e38 3:1e-38\n",
    "a label with one annotation": lines() + "9 1:1\n",
    "a feature of index 500,000": lines() + "1 500000:1\n",
}


@pytest.mark.parametrize("text", DATA.values(), ids=DATA)
def test_weights_and_probabilities_are_finite(run, tmp_path, text):
    source, model, scores = tmp_path / "x.svm", tmp_path / "x.mpu", tmp_path / "scores.txt"
    source.write_text(text)
    run.ok("train", source, *QUICK, "--levels", 2, "-q")
    assert all(np.isfinite(level.weights).all() for level in load(model).predictor.levels)
    run.ok("predict", model, source, "--format", "scores", "-o", scores)
    probabilities = read(scores).features
    assert probabilities.shape[0] == text.count("\n")
    assert ((probabilities.data >= 0) & (probabilities.data <= 1)).all()
