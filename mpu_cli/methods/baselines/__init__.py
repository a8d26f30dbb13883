"""The methods that mpu is compared with: their options, and how each is called (Kong et al. 2014, Section 3.3).

Each is learned by a module of its name, which is imported when it runs. What papers leave open is in these modules, and
in docs/choices/baselines.md.
"""

from dataclasses import asdict, dataclass

from mpu_cli.core.options import Descent, Regularised
from mpu_cli.errors import counted
from mpu_cli.methods.method import Fitted, Method, Task, one_or_list
from mpu_cli.runtime.options import (
    MOST_INSTANCES,
    POSITIVE,
    WEIGHT,
    WEIGHT_OR_0,
    Real,
    Whole,
    Words,
    option,
)


@dataclass(frozen=True, kw_only=True)
class Gamma:
    """The width of the kernel."""

    gamma: float | None = option(
        POSITIVE,
        None,
        "The kernel is exp(-gamma d^2) for instances at distance d. Default: chosen by the distances of instances.",
    )


@dataclass(frozen=True, kw_only=True)
class Elkan08Options(Descent):
    """The options of `elkan08.train`."""

    c_method: str = option(Words(("e1", "e2", "e3")), "e1", "Estimator of c, for each label.")
    elkan_variant: str = option(
        Words(("ratio", "weighted")),
        "ratio",
        "ratio: divide Pr(s=1|x) by c. weighted: train again, with unlabelled instances weighted as partly positive.",
    )


def _fit_elkan08(task: Task) -> Fitted:
    """Learn by `elkan08.train`."""
    from mpu_cli.methods.baselines import elkan08

    model, report = elkan08.train(task.problem.features, task.problem.labels, task.options, task.run)
    findings = {
        "c": one_or_list(report.c),
        "c_estimated": True,
        **{name: value for name, value in asdict(report.settings).items() if name != "prior"},
        "labels_with_c_of_their_own": report.own,
    }
    return Fitted(model, findings, report.c)


@dataclass(frozen=True, kw_only=True)
class M3lLinearOptions(Regularised):
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
class M3lRbfOptions(Gamma, M3lLinearOptions):
    """The options of `m3l.train_rbf`."""


def _fit_m3l_linear(task: Task) -> Fitted:
    from mpu_cli.methods.baselines import m3l

    return Fitted.without_c(
        task, *m3l.train_linear(task.problem.features, task.problem.labels, task.options, run=task.run)
    )


def _fit_m3l_rbf(task: Task) -> Fitted:
    from mpu_cli.methods.baselines import m3l

    return Fitted.without_c(
        task, *m3l.train_rbf(task.problem.features, task.problem.labels, task.options, run=task.run)
    )


@dataclass(frozen=True, kw_only=True)
class WellOptions(Gamma):
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


def _fit_well(task: Task) -> Fitted:
    """Learn by `well.train`."""
    from mpu_cli.methods.baselines import well

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


METHODS = (
    Method("elkan08", "Elkan and Noto 2008, for each label alone.", Elkan08Options, _fit_elkan08),
    Method(
        "m3l-linear",
        "max-margin with a prior of label correlations, Hariharan et al. 2010, with the C of that paper, half of a "
        "support vector machine's.",
        M3lLinearOptions,
        _fit_m3l_linear,
    ),
    Method("m3l-rbf", "the same with an RBF kernel.", M3lRbfOptions, _fit_m3l_rbf),
    Method("well", "weak labels, Sun et al. 2010.", WellOptions, _fit_well, transductive=True),
)
