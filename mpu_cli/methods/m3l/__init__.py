"""m3l-linear, m3l-rbf: max-margin learning with a prior of label correlations (Hariharan et al. 2010, 2012)."""

from dataclasses import dataclass

from mpu_cli.core.options import Regularised
from mpu_cli.methods.method import Fitted, Method, Task
from mpu_cli.methods.shared import Gamma
from mpu_cli.runtime.options import WEIGHT_OR_0, Real, Words, option


@dataclass(frozen=True, kw_only=True)
class LinearOptions(Regularised):
    """The options of `m3l.train_linear`. C weights the Hamming loss: it is half the C of a support vector machine."""

    label_correlation: float = option(
        Real(0, 1, below=True), 0.5, "Weight rho of label correlations in the prior; 0: independent labels."
    )
    likeness: str = option(
        Words(("cosine", "pearson")),
        "cosine",
        "Similarity of labels by their annotations. cosine: from 0 to 1. pearson: from -1 to 1, less than 0 if labels "
        "exclude each other.",
    )
    bias: float = option(
        WEIGHT_OR_0, 1.0, "Value of a constant feature, whose regularised weight is the bias. 0: no bias."
    )


@dataclass(frozen=True, kw_only=True)
class RbfOptions(Gamma, LinearOptions):
    """The options of `m3l.train_rbf`."""


def _fit_linear(task: Task) -> Fitted:
    from mpu_cli.methods.m3l import m3l

    return Fitted.without_c(
        task, *m3l.train_linear(task.problem.features, task.problem.labels, task.options, run=task.run)
    )


def _fit_rbf(task: Task) -> Fitted:
    from mpu_cli.methods.m3l import m3l

    return Fitted.without_c(
        task, *m3l.train_rbf(task.problem.features, task.problem.labels, task.options, run=task.run)
    )


METHODS = (
    Method(
        "m3l-linear",
        "max-margin with a prior of label correlations, Hariharan et al. 2010, with the C of that paper, half of a "
        "support vector machine's.",
        LinearOptions,
        _fit_linear,
    ),
    Method("m3l-rbf", "the same with an RBF kernel.", RbfOptions, _fit_rbf),
)
