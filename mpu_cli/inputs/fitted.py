"""What a training gives: a model, and the findings that its report, a line of a history and the model's record have."""

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from mpu_cli.core.evidence import Evidence
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.labels.problem import InstanceGroups, Problem, joined, kin_of
from mpu_cli.core.loss import loss_named
from mpu_cli.core.options import Options
from mpu_cli.core.predictions import Predictions
from mpu_cli.core.selection import Estimates, TrainingResult
from mpu_cli.core.stacking import StackedModel, train
from mpu_cli.runtime.options import options_of
from mpu_cli.runtime.run import Run


@dataclass(frozen=True)
class Fitted:
    """A model with the results of its training."""

    model: StackedModel
    findings: dict[str, Any]  # JSON values for the report and the model's record; the same for the same seed
    c: np.ndarray  # float64, shape (q,): label frequencies
    estimates: Estimates  # where they come from
    warnings: tuple[str, ...]
    seconds: dict[str, float]  # wall time of each step
    out_of_fold: Predictions | None = None  # predictions of all instances, if they were asked for
    groups: InstanceGroups | None = None  # groups of instances with their label frequencies, if the data have groups

    @classmethod
    def of(cls, options: Options, model: StackedModel, result: TrainingResult, has_label_features: bool) -> "Fitted":
        """Return the results of a training."""
        settings = asdict(result.settings)
        del settings["thin"]  # follows from the number of labels
        if not loss_named(result.settings.loss).has_step:
            del settings["step"]
        if not (has_label_features and options.uses_label_features):
            del settings["prior"]
        findings: dict[str, Any] = {
            **_frequency(result.c, result.estimates),
            **settings,
            "expected_micro_f1": result.expected_f1,
            "expected_micro_f1_interval": list(result.f1_interval),
            "expected_micro_f1_by_level": result.level_f1,
        }
        if result.scaling is not None:
            findings["scaling"] = result.scaling
        if model.kernel is not None:
            findings |= {"rbf_gamma": model.kernel.gamma, "rbf_landmarks": len(model.kernel)}
        if options.levels is None:
            findings["levels"] = len(model.levels)
        findings |= _evidence_of_frequency(result.estimates)
        return cls(model, findings, result.c, result.estimates, tuple(result.warnings()), result.seconds)

    def record(self, options: Options, run: Run) -> dict[str, Any]:
        """Return the options, and what was chosen or estimated for them, for the model."""
        asked = {name: getattr(options, name) for name in options_of(Options) if name not in self.findings}
        return asked | {"seed": run.seed, **self.findings}

    def evidence(self, problem: Problem) -> Evidence:
        """Return what missing labels are listed by, where all instances were predicted out of fold."""
        assert self.out_of_fold is not None
        frequency = LabelFrequency.of(self.c, problem.labels.shape, problem.verified, self.groups)
        return Evidence(
            self.out_of_fold,
            frequency,
            estimates=self.estimates,
            warnings=self.warnings,
            kin=joined(kin_of(problem.features), problem.same_fold),
        )


def fit(problem: Problem, options: Options, run: Run, hold_out_all: bool = False) -> Fitted:
    """Train as `core.stacking.train` does."""
    seconds: dict[str, float] = {}
    model, result = train(problem, options, run.timed(seconds), hold_out_all=hold_out_all)
    fitted = replace(Fitted.of(options, model, result, problem.label_features is not None), seconds=seconds)
    if result.estimates.groups is not None and problem.groups is not None:
        fitted.findings["c_by_group"] = result.estimates.groups.rows(problem.groups, problem.labels, problem.verified)
        fitted = replace(fitted, groups=replace(problem.groups, rates=result.estimates.groups.c))
    return replace(fitted, out_of_fold=result.held_out.probabilities) if hold_out_all else fitted


def _frequency(c: np.ndarray, estimates: Estimates) -> dict[str, Any]:
    return {"c": float(c[0]) if (c == c[0]).all() else c.tolist(), "c_estimated": estimates.are_estimated}


def _evidence_of_frequency(estimates: Estimates) -> dict[str, Any]:
    estimate, reviewed = estimates.estimate, estimates.reviewed
    findings: dict[str, Any] = {}
    basis = estimates.earlier or (estimate if reviewed is None else None)
    if basis is not None:
        findings["c_interval"] = list(basis.interval or ())
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
