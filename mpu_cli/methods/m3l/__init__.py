"""m3l-linear, m3l-rbf: max-margin learning with a prior of label correlations (Hariharan et al. 2010, 2012)."""

from dataclasses import dataclass

from mpu_cli.core.options import Regularised
from mpu_cli.methods.method import Fitted, Method, Task
from mpu_cli.methods.shared.rbf_options import Gamma
from mpu_cli.runtime.options import Real, option


@dataclass(frozen=True, kw_only=True)
class LinearOptions(Regularised):
    """The options of `m3l.train_linear`."""

    label_correlation: float = option(
        Real(0, 1, below=True),
        0.5,
        "How far the prior goes from independent labels to their cosine similarities.",
    )


@dataclass(frozen=True, kw_only=True)
class RbfOptions(Gamma, LinearOptions):
    """The options of `m3l.train_rbf`."""


def _fit_linear(task: Task) -> Fitted:
    from mpu_cli.methods.m3l import m3l

    return Fitted.without_c(task, *m3l.train_linear(task.matrix, task.labels, **vars(task.options), run=task.run))


def _fit_rbf(task: Task) -> Fitted:
    from mpu_cli.methods.m3l import m3l

    return Fitted.without_c(task, *m3l.train_rbf(task.matrix, task.labels, **vars(task.options), run=task.run))


METHODS = (
    Method(
        "m3l-linear",
        "max-margin with a prior of label correlations, Hariharan et al. 2010.",
        LinearOptions,
        _fit_linear,
    ),
    Method("m3l-rbf", "the same with an RBF kernel.", RbfOptions, _fit_rbf),
)
