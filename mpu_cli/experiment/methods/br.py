"""br: logistic regression for each label: mpu with one level and c = 1, which treats missing labels as negatives."""

from mpu_cli.core.options import LINEAR
from mpu_cli.experiment.methods import mpu


class Method(mpu.Method):
    """A logistic regression for each label, with the options of mpu that are not fixed here."""

    calibrated = False
    fixed = {"loss": "pu-logistic", "levels": 1, "c": 1.0, "threshold": 0.5, "features": LINEAR}  # noqa: RUF012
