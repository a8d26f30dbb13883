"""What the out-of-fold predictions of a model of mpu say."""

from mpu_cli.core.data.problem import Problem
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.model.rbf_features import RbfModel
from mpu_cli.core.model.stacking import StackedModel
from mpu_cli.core.select.hyper_parameters import Estimates
from mpu_cli.core.train.evidence import Evidence
from mpu_cli.methods import Fitted


def evidence_of(fitted: Fitted, problem: Problem) -> Evidence:
    """Take a model of the method mpu and its predictions of all instances out of fold."""
    model, held_out = fitted.model, fitted.out_of_fold
    assert isinstance(model, StackedModel | RbfModel) and held_out is not None
    # Of about as many true labels each; the map of a stratum has some more.
    blocks = 1 if model.calibration is None else min(len(of_one.actual) for of_one in model.calibration.maps)
    frequency = LabelFrequency.of(fitted.c, problem.labels.shape, problem.verified, fitted.groups)
    estimates = Estimates(reviewed=fitted.reviewed)
    return Evidence(held_out, frequency, blocks=blocks, estimates=estimates, warnings=fitted.warnings)
