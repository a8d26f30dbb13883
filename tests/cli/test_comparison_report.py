"""How a comparison is printed."""

from mpu_cli.cli.actions.evaluate import print_comparison
from mpu_cli.evaluation.bootstrap import Difference


def test_a_difference_that_rounds_to_zero_has_no_minus(capsys):
    differences = {"micro_f1": Difference(-1e-6, -0.0063, 0.0063)}
    print_comparison(
        {
            "instances": 5,
            "labels": 2,
            "evaluated": [{"name": name, "micro_f1": 0.5} for name in "ab"],
            "compared": [{"name": "b", "compared_with": "a", "verdict": "no verdict", "differences": differences}],
        }
    )
    assert "+0.0000 -0.0063 +0.0063" in " ".join(capsys.readouterr().out.split())
