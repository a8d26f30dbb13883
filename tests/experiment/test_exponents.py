import numpy as np
import pytest

from mpu_cli.experiment.summary import fit_power_law


@pytest.mark.parametrize("exponent", [1.0, 2.0, 0.5, 1.37])
def test_an_exact_power_is_found(exponent):
    sizes = np.array([1000, 2000, 4000, 9000])
    law = fit_power_law(sizes, 3e-4 * sizes**exponent)
    assert law.slope == pytest.approx(exponent)
    assert np.exp(law.intercept) == pytest.approx(3e-4)
    assert law.stderr == pytest.approx(0, abs=1e-6)


def test_two_sizes_are_a_line():
    assert fit_power_law([10, 100], [1, 100]).slope == pytest.approx(2)


def test_the_standard_error_is_that_of_the_slope():
    """Residuals of the logarithms are +-log 2 about a slope of 1, at -1.5, -.5, .5, 1.5 (times log 10)."""
    law = fit_power_law([1, 10, 100, 1000], [2 * 1, 10 / 2, 100 / 2, 2 * 1000])
    assert law.slope == pytest.approx(1)
    variance = 4 * np.log(2) ** 2 / 2
    assert law.stderr == pytest.approx(np.sqrt(variance / (5 * np.log(10) ** 2)))
