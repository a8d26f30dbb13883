"""elkan08: one problem of positive and unlabelled instances for each label (Elkan and Noto 2008)."""

from dataclasses import asdict, dataclass

from mpu_cli.core.options import Descent
from mpu_cli.methods.method import Fitted, Method, Task, one_or_list
from mpu_cli.runtime.options import Words, option


@dataclass(frozen=True, kw_only=True)
class Options(Descent):
    """The options of `elkan08.train`."""

    c_method: str = option(Words(("e1", "e2", "e3")), "e1", "Estimator of c, for each label.")
    elkan_variant: str = option(
        Words(("ratio", "weighted")),
        "ratio",
        "ratio: divide Pr(s=1|x) by c. weighted: train again, with unlabelled instances weighted as partly positive.",
    )


def fit(task: Task) -> Fitted:
    """Learn by `elkan08.train`."""
    from mpu_cli.methods.elkan08 import elkan08

    model, report = elkan08.train(task.problem.features, task.problem.labels, task.options, task.run)
    findings = {
        "c": one_or_list(report.c),
        "c_estimated": True,
        **{name: value for name, value in asdict(report.settings).items() if name != "prior"},
        "labels_with_c_of_their_own": report.own,
    }
    return Fitted(model, findings, report.c)


METHODS = (Method("elkan08", "Elkan and Noto 2008, for each label alone.", Options, fit),)
