"""The methods that `mpu train` and `mpu experiment` know by name: Kong et al. 2014, Section 4.1, Compared methods.

Each learns from the same arrays and gives a model with `thresholds`, `n_features` and `probabilities`; a label is
predicted where its probability is at least its threshold. The thresholds are each method's own published rule.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from typing import Protocol

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.propensity import NEARLY_COMPLETE, FrequencyEstimate
from mpu_cli.core.training import Options, Report, train
from mpu_cli.core.warm import WarmStart
from mpu_cli.errors import MpuError
from mpu_cli.runtime.run import DEFAULT_RUN, Run

NAMES = ("mpu", "br", "elkan08", "m3l-linear", "m3l-rbf", "well")


class Model(Protocol):
    """What every method gives, and `mpu_cli.bundle` and `mpu_cli.commands.prediction` use.

    Attributes
    ----------
    thresholds : ndarray of float32, shape (q,)
    n_features : int
        Number of features D.
    """

    @property
    def thresholds(self) -> np.ndarray: ...  # noqa: D102

    @property
    def n_features(self) -> int: ...  # noqa: D102

    def probabilities(self, matrix: csr_array, run: Run = DEFAULT_RUN) -> np.ndarray:
        """Return a number in [0, 1] for each of n instances and q labels: float32, n x q."""


@dataclass(frozen=True)
class MethodOptions:
    """What can be asked of a method; each uses those that concern it.

    Attributes
    ----------
    training : core.training.Options
        Of mpu all; the other methods use what they have in common with it (cost, epochs, folds, sample).
    c_method : {"e1", "e2", "e3"}
        How elkan08 estimates c.
    elkan_variant : {"ratio", "weighted"}
        Whether elkan08 divides g by c, or learns once more from weighted instances.
    label_correlation : float or None
        Of m3l: the weight of the label correlations in the prior R; None: its default.
    gamma : float or None
        Of m3l-rbf and well: the RBF kernel is exp(-gamma ||x - x'||^2); None: by the data.
    alpha, beta : float
        Of well: weights of smoothness and of the fit to the annotations.
    """

    training: Options = field(default_factory=Options)
    c_method: str = "e1"
    elkan_variant: str = "ratio"
    label_correlation: float | None = None
    gamma: float | None = None
    alpha: float = 100.0
    beta: float = 10.0


@dataclass(frozen=True)
class Fitted:
    """A model and what its training found.

    Attributes
    ----------
    model : Model
    findings : dict
        JSON values that go into the report and the model's record; the same for the same seed.
    c : ndarray of float64, shape (q,)
        Label frequency that was used; ones where the method knows none.
    warnings : tuple of str
        What the user should know before trusting the model.
    seconds : dict
        Wall time of each step.
    """

    model: Model
    findings: dict
    c: np.ndarray
    warnings: tuple[str, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict)


def fit(
    name: str,
    matrix: csr_array,
    labels: csr_array,
    options: MethodOptions,
    run: Run = DEFAULT_RUN,
    unlabeled: csr_array | None = None,
    start: WarmStart | None = None,
) -> Fitted:
    """Learn a model of all labels by the method of a name.

    Parameters
    ----------
    name : str
        One of `NAMES`.
    matrix : csr_array, shape (n, D), float32
        Features.
    labels : csr_array of bool, shape (n, q)
        Annotated labels: q >= 1, each column with at least one.
    options : MethodOptions
    run : Run
        Is told of every step. Of mpu and br, its journal has those that an interrupted training finished.
    unlabeled : csr_array, shape (m, any), float32, optional
        The instances that a transductive method (well) labels.
    start : WarmStart, optional
        Of mpu and br: as for `core.training.train`.

    Returns
    -------
    Fitted

    Raises
    ------
    MpuError
        The method cannot learn from these data; TooLargeError where they would not fit in memory.
    """
    seconds: dict[str, float] = {}
    run = run.timed(seconds)
    if name in ("mpu", "br"):
        asked = options.training
        if name == "br":  # binary relevance by logistic regression, at its natural threshold
            asked = replace(asked, levels=1, c=1.0, threshold=0.5)
        model, report = train(matrix, labels, asked, run, start)
        return Fitted(model, _findings(report), report.c, _warnings(report), seconds)
    if name == "well" and unlabeled is None:
        raise MpuError("well labels instances while it learns: it needs some to label")
    fitted = _BASELINES[name](_Task(matrix, labels, options, run, unlabeled))
    return replace(fitted, seconds=seconds)


def _findings(report: Report) -> dict:
    return {
        "c": _one_or_list(report.c),
        "c_estimated": report.estimate is not None,
        **asdict(report.settings),
        "expected_micro_f1": report.expected_f1,
        "expected_micro_f1_by_level": report.level_f1,
    }


def _warnings(report: Report) -> tuple[str, ...]:
    caution = report.estimate and caution_about(report.estimate)
    return (caution,) if caution else ()


def caution_about(estimate: FrequencyEstimate) -> str | None:
    """Say what to know before trusting an estimate of c; None where it can be trusted."""
    if estimate.separable:
        return None
    if estimate.c >= NEARLY_COMPLETE:  # it can hardly be too low
        finding = f"so c cannot be told, and the estimate of {estimate.c:.3f} means nothing"
    else:
        finding = f"so c = {estimate.c:.3f} is likely too low, and a micro-F1 expected by it too high"
    return f"no label is told apart well by the features, {finding}; give --c to mpu train where you know it"


def _one_or_list(c: np.ndarray) -> float | list[float]:
    """Return a number where all are the same, else all of them."""
    return float(c[0]) if (c == c[0]).all() else c.tolist()


@dataclass(frozen=True)
class _Task:
    """What `fit` was given."""

    matrix: csr_array
    labels: csr_array
    options: MethodOptions
    run: Run
    unlabeled: csr_array | None


# A method is imported when it is used: the others are not needed for it.


def _elkan08(task: _Task) -> Fitted:
    from mpu_cli.methods.elkan08 import elkan08

    asked = task.options
    model, report = elkan08.train(
        task.matrix, task.labels, asked.training, asked.c_method, asked.elkan_variant, task.run
    )
    findings = {
        "c": _one_or_list(report.c),
        "c_estimated": True,
        **asdict(report.settings),
        "labels_with_c_of_their_own": report.own,
    }
    return Fitted(model, findings, report.c)


def _m3l_linear(task: _Task) -> Fitted:
    from mpu_cli.methods.m3l import m3l

    return _without_c(task, *m3l.train_linear(task.matrix, task.labels, **_m3l_options(task)))


def _m3l_rbf(task: _Task) -> Fitted:
    from mpu_cli.methods.m3l import m3l

    gamma = task.options.gamma
    return _without_c(task, *m3l.train_rbf(task.matrix, task.labels, gamma=gamma, **_m3l_options(task)))


def _m3l_options(task: _Task) -> dict:
    asked = task.options.training
    return {
        "cost": asked.cost,
        "label_correlation": task.options.label_correlation,
        "sample": asked.sample,
        "folds": asked.folds,
        "run": task.run,
    }


def _well(task: _Task) -> Fitted:
    from mpu_cli.methods.well import well

    asked = task.options
    model, report = well.train(
        task.matrix,
        task.labels,
        task.unlabeled,
        gamma=asked.gamma,
        alpha=asked.alpha,
        beta=asked.beta,
        run=task.run,
    )
    warnings: tuple[str, ...] = ()
    if report.empty_labels:
        warnings = (
            f"{report.empty_labels} of {task.labels.shape[1]} labels are predicted for no instance: their best cut is "
            "empty; a larger --gamma or a smaller --alpha ties instances less to each other",
        )
    return _without_c(task, model, report, warnings)


def _without_c(task: _Task, model: Model, report, warnings: tuple[str, ...] = ()) -> Fitted:
    """Take what a method has found that knows no label frequency."""
    findings = {name: value for name, value in asdict(report).items() if value is not None}
    return Fitted(model, findings, np.ones(task.labels.shape[1]), warnings)


_BASELINES: dict[str, Callable[[_Task], Fitted]] = {
    "elkan08": _elkan08,
    "m3l-linear": _m3l_linear,
    "m3l-rbf": _m3l_rbf,
    "well": _well,
}
