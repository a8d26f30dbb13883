"""br: binary relevance by logistic regression, which takes missing labels for negatives."""

from dataclasses import asdict, replace

from mpu_cli.core.options import Descent, Options
from mpu_cli.methods import mpu
from mpu_cli.methods.method import Fitted, Method, Task


def fit(task: Task) -> Fitted:
    """Learn as mpu does with c = 1, one level, and the natural threshold of a logistic regression."""
    given = asdict(task.options)
    options = Options(**given, loss="pu-logistic", levels=1, c=1.0, threshold=0.5, calibrated=False)
    return mpu.fit(replace(task, options=options))


METHODS = (
    Method(
        "br",
        "one logistic regression per label, with missing labels taken for negatives.",
        Descent,
        fit,
        ("resume", "oof"),
    ),
)
