"""mpu: PU-SGD for all labels at once, stacked for label correlations (Kong et al. 2014)."""

from dataclasses import asdict

from mpu_cli.core.options import Options
from mpu_cli.methods.method import Fitted, Method, Task, one_or_list


def fit(task: Task) -> Fitted:
    """Learn by `core.training.train`."""
    from mpu_cli.core.training import train

    model, report = train(task.matrix, task.labels, task.options, task.run, task.start)
    findings = {
        "c": one_or_list(report.c),
        "c_estimated": report.estimate is not None,
        **asdict(report.settings),
        "expected_micro_f1": report.expected_f1,
        "expected_micro_f1_by_level": report.level_f1,
    }
    caution = report.estimate and report.estimate.caution
    return Fitted(model, findings, report.c, (caution,) if caution else ())


METHODS = (Method("mpu", "Kong et al. 2014.", Options, fit, takes=("warm_start", "resume")),)
