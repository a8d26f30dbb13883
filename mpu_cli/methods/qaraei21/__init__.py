"""qaraei21: binary relevance by a convex bound of the unbiased risk (Qaraei et al. 2021)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mpu_cli.core.options import Options as PuOptions
from mpu_cli.core.options import Regularised
from mpu_cli.methods.method import Fitted, Method, Task, one_or_list
from mpu_cli.runtime.options import Words, option, options_of

if TYPE_CHECKING:
    import numpy as np

_C = options_of(PuOptions)["c"]


@dataclass(frozen=True, kw_only=True)
class Options(Regularised):
    """The options of `qaraei21.train`."""

    c: "np.ndarray | float | None" = option(_C.kind, _C.default, _C.help)
    bounded_loss: str = option(Words(("squared-hinge", "logistic")), "squared-hinge", "Surrogate of the 0-1 loss.")


def fit(task: Task) -> Fitted:
    """Learn by `qaraei21.train`."""
    from mpu_cli.methods.qaraei21 import qaraei21

    model, report = qaraei21.train(task.problem.features, task.problem.labels, task.options, task.run)
    findings = {"c": one_or_list(report.c), "c_estimated": task.options.c is None, "cost": report.cost, "f1": report.f1}
    return Fitted(
        model,
        {name: value for name, value in findings.items() if value is not None},
        report.c,
        (report.caution,) if report.caution else (),
    )


METHODS = (
    Method(
        "qaraei21",
        "one linear classifier per label, annotated labels weighted by 2/c - 1, Qaraei et al. 2021.",
        Options,
        fit,
    ),
)
