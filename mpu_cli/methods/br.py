"""br: binary relevance by logistic regression, which treats missing labels as negatives."""

from dataclasses import asdict, replace

from mpu_cli.core.options import LINEAR, Descent, Options
from mpu_cli.methods import mpu
from mpu_cli.methods.method import Fitted, Method, Task


def fit(task: Task) -> Fitted:
    """Train as mpu with c = 1, one level, and threshold 0.5, that of a logistic regression."""
    values = asdict(task.options)
    options = Options(**values, loss="pu-logistic", levels=1, c=1.0, threshold=0.5, features=LINEAR)
    return mpu.fit(replace(task, options=options), calibrated=False)


METHODS = (
    Method(
        "br",
        "one logistic regression per label, with missing labels treated as negatives.",
        Descent,
        fit,
        ("resume", "oof", "top_k", "aim"),
    ),
)
