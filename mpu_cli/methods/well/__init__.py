"""well: weak labels (Sun, Zhang and Zhou 2010)."""

from dataclasses import dataclass

from mpu_cli.methods.method import Fitted, Method, Task
from mpu_cli.methods.shared.rbf_options import Gamma
from mpu_cli.runtime.options import WEIGHT, option


@dataclass(frozen=True, kw_only=True)
class Options(Gamma):
    """The options of `well.train`."""

    alpha: float = option(WEIGHT, 100.0, "Weight of smoothness over the graph.")
    beta: float = option(WEIGHT, 10.0, "Weight of the annotated labels.")


def fit(task: Task) -> Fitted:
    """Learn by `well.train`."""
    from mpu_cli.methods.well import well

    model, report = well.train(task.matrix, task.labels, task.unlabeled, **vars(task.options), run=task.run)
    warnings: tuple[str, ...] = ()
    if report.empty_labels:
        warnings = (
            f"{report.empty_labels} of {task.labels.shape[1]} labels are predicted for no instance: their best cut is "
            "empty; a larger gamma or a smaller alpha ties instances less to each other",
        )
    return Fitted.without_c(task, model, report, warnings)


METHODS = (Method("well", "weak labels, Sun et al. 2010.", Options, fit, transductive=True),)
