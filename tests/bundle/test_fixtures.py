"""Models that were written once stay loadable, and predict the same.

`fixtures/digits.svm` is a part of the digits. A model in `fixtures/vN`, of format N, was trained on it, and is there
with the labels and the scores that were predicted for it: `mpu train digits.svm` with default options and with
`--features rbf`; that in `strata` by `MPUClassifier(prior=15, levels=2, c=0.9)`, with label features
and rare labels.
"""

from pathlib import Path

import numpy as np
import pytest

from mpu_cli.bundle import FORMAT_VERSION
from mpu_cli.svmlight.reader import read

FIXTURES = Path(__file__).parent / "fixtures"
DATA = FIXTURES / "digits.svm"


def test_every_format_version_has_a_model():
    assert {path.name for path in FIXTURES.glob("v*")} == {f"v{number + 1}" for number in range(FORMAT_VERSION)}


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("v*/*")), ids=lambda path: str(path.relative_to(FIXTURES)))
def test_a_model_of_any_format_version_predicts_the_same(run, tmp_path, path):
    run.ok("predict", path / "model", DATA, "-o", tmp_path / "labels.txt")
    run.ok("predict", path / "model", DATA, "--format", "scores", "-o", tmp_path / "scores.txt")
    assert (tmp_path / "labels.txt").read_text() == (path / "labels.txt").read_text()
    scores, expected = (read(folder / "scores.txt").features.toarray() for folder in (tmp_path, path))
    np.testing.assert_allclose(scores, expected, rtol=1e-4)  # other kernels and machines add up in another order
