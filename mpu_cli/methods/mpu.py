"""mpu: PU-SGD for all labels at once, stacked for label correlations (Kong et al. 2014).

br is the same with c = 1 and one level: binary relevance by logistic regression, which treats missing labels as
negatives.
"""

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from mpu_cli.core.loss import loss_named
from mpu_cli.core.options import LINEAR, Descent, Options
from mpu_cli.methods.method import Fitted, Method, Task, one_or_list

if TYPE_CHECKING:
    import numpy as np

    from mpu_cli.core.data.problem import Problem
    from mpu_cli.core.model.stacking import StackedModel
    from mpu_cli.core.select.hyper_parameters import Estimates
    from mpu_cli.core.train.algorithm import TrainingResult
    from mpu_cli.core.train.evidence import Evidence


def fit(task: Task, calibrated: bool = True) -> Fitted:
    """Train by `core.train.algorithm.train`."""
    from mpu_cli.core.train.algorithm import train

    arguments = task.problem, task.options, task.run
    model, report = train(*arguments, hold_out_all=task.hold_out_all, calibrated=calibrated)
    result = fitted(task.options, model, report, task.problem.label_features is not None)
    if report.estimates.groups is not None and task.problem.groups is not None:
        result.findings["c_by_group"] = report.estimates.groups.rows(
            task.problem.groups, task.problem.labels, task.problem.verified
        )
        result = replace(result, groups=replace(task.problem.groups, rates=report.estimates.groups.c))
    return replace(result, out_of_fold=report.held_out.probabilities) if task.hold_out_all else result


def fitted(
    options: Options, model: "StackedModel", report: "TrainingResult", has_label_features: bool = False
) -> Fitted:
    """Return the report of `core.train.algorithm.train` in the form of all methods."""
    settings = asdict(report.settings)
    del settings["thin"]  # follows from the number of labels
    if not loss_named(report.settings.loss).has_step:
        del settings["step"]
    if not (has_label_features and options.uses_label_features):
        del settings["prior"]
    of_c = findings_of(report.c, report.estimates)
    findings: dict[str, Any] = {
        **{name: of_c.pop(name) for name in ("c", "c_estimated")},
        **settings,
        "expected_micro_f1": report.expected_f1,
        "expected_micro_f1_interval": list(report.f1_interval),
        "expected_micro_f1_by_level": report.level_f1,
    }
    if model.kernel is not None:
        findings |= {"rbf_gamma": model.kernel.gamma, "rbf_landmarks": len(model.kernel)}
    if options.levels is None:
        findings["levels"] = len(model.levels)
    findings |= of_c
    return Fitted(model, findings, report.c, tuple(report.warnings()), estimates=report.estimates)


def findings_of(c: "np.ndarray", estimates: "Estimates") -> dict[str, Any]:
    """Return the label frequency, and where it comes from, as JSON values."""
    estimate, reviewed = estimates.estimate, estimates.reviewed
    findings: dict[str, Any] = {
        "c": one_or_list(c),
        "c_estimated": estimates.are_estimated,
    }
    if estimates.earlier is not None:
        findings["c_interval"] = list(estimates.earlier.interval or ())
        if not estimates.is_known:
            findings["c_known"] = False
    if estimate is not None and reviewed is None:
        findings["c_interval"] = list(estimate.interval or ())
        if not estimates.is_known:
            findings["c_known"] = False
    if reviewed is not None:
        findings["c_by_people"] = {
            "c": reviewed.c,
            "interval": list(reviewed.interval),
            "instances": reviewed.instances,
            "by_annotations_alone": None if estimate is None or estimate.one_label_each else estimate.c,
        }
        if reviewed.answers:
            findings["c_by_people"] |= {"answers": reviewed.answers, "yes": reviewed.yes}
    return findings


def evidence_of(fitted: Fitted, problem: "Problem") -> "Evidence":
    """Return what missing labels are listed by: a model of this method, and its out-of-fold predictions."""
    from mpu_cli.core.frequency.label_frequency import LabelFrequency
    from mpu_cli.core.model.stacking import StackedModel
    from mpu_cli.core.select.hyper_parameters import Estimates
    from mpu_cli.core.train.evidence import Evidence

    model, held_out = fitted.model, fitted.out_of_fold
    assert isinstance(model, StackedModel) and held_out is not None
    # Each has about as many true labels; the calibration of a stratum has some more.
    blocks = 1 if model.calibration is None else min(len(of_one.actual) for of_one in model.calibration.maps)
    frequency = LabelFrequency.of(fitted.c, problem.labels.shape, problem.verified, fitted.groups)
    estimates = fitted.estimates or Estimates()
    return Evidence(held_out, frequency, calibration_blocks=blocks, estimates=estimates, warnings=fitted.warnings)


def _fit_br(task: Task) -> Fitted:
    """Train with c = 1, one level, and threshold 0.5, that of a logistic regression."""
    values = asdict(task.options)
    options = Options(**values, loss="pu-logistic", levels=1, c=1.0, threshold=0.5, features=LINEAR)
    return fit(replace(task, options=options), calibrated=False)


_TAKES = ("reviewed", "reviewed_wins", "fully_labelled", "label_features", "oof")
METHODS = (
    Method("mpu", "Kong et al. 2014.", Options, fit, _TAKES),
    Method(
        "br",
        "one logistic regression per label, with missing labels treated as negatives.",
        Descent,
        _fit_br,
        ("oof",),
    ),
)
