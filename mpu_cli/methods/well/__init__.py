"""well: weak labels (Sun, Zhang and Zhou 2010)."""

from dataclasses import dataclass

from mpu_cli.errors import counted
from mpu_cli.methods.method import Fitted, Method, Task
from mpu_cli.methods.shared import Gamma
from mpu_cli.runtime.options import MOST_INSTANCES, WEIGHT, WEIGHT_OR_0, Whole, Words, option


@dataclass(frozen=True, kw_only=True)
class Options(Gamma):
    """The options of `well.train`."""

    graph: str = option(
        Words(("neighbours", "cosine", "rbf")),
        "neighbours",
        "Similarities of instances. neighbours: cosines of nearest neighbours. cosine: cosines of all pairs. rbf: "
        "exp(-gamma d^2) of all pairs.",
    )
    neighbours: int = option(Whole(1, MOST_INSTANCES), 5, "Nearest neighbours of an instance in that graph.")
    alpha: float = option(WEIGHT, 100.0, "Weight of smoothness over the graph.")
    beta: float = option(WEIGHT, 10.0, "Weight of the annotated labels.")
    sharing: float = option(
        WEIGHT_OR_0, 0.25, "Weight of similarities by common labels, relative to those of the graph. 0: none."
    )


def fit(task: Task) -> Fitted:
    """Learn by `well.train`."""
    from mpu_cli.methods.well import well

    problem = task.problem
    model, report = well.train(problem.features, problem.labels, task.unlabeled, task.options, run=task.run)
    warnings: tuple[str, ...] = ()
    if report.empty_labels:
        warnings = (
            f"no instance is predicted to have {report.empty_labels} of "
            f"{counted(problem.labels.shape[1], 'label')}: the "
            "best cut has training instances only",
        )
    return Fitted.without_c(task, model, report, warnings)


METHODS = (Method("well", "weak labels, Sun et al. 2010.", Options, fit, transductive=True),)
