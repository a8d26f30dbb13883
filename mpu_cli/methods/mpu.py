"""mpu: PU-SGD for all labels at once, stacked for label correlations (Kong et al. 2014).

br is the same with c = 1 and one level: binary relevance by logistic regression, which treats missing labels as
negatives.
"""

from dataclasses import asdict, replace

from mpu_cli.core.options import LINEAR, Descent, Options
from mpu_cli.methods.method import Fitted, Method, Task


def fit(task: Task, calibrated: bool = True) -> Fitted:
    """Train by `core.stacking.train`."""
    from mpu_cli.core.stacking import train

    model, report = train(task.problem, task.options, task.run, calibrated=calibrated)
    return Fitted(model, {}, report.c)


def _fit_br(task: Task) -> Fitted:
    """Train with c = 1, one level, and threshold 0.5, that of a logistic regression."""
    values = asdict(task.options)
    options = Options(**values, loss="pu-logistic", levels=1, c=1.0, threshold=0.5, features=LINEAR)
    return fit(replace(task, options=options), calibrated=False)


METHODS = (
    Method("mpu", "Kong et al. 2014.", Options, fit),
    Method("br", "one logistic regression per label, with missing labels treated as negatives.", Descent, _fit_br),
)
