"""Parameters and estimates for the estimators and the functions on arrays.

Parameters are the options of ``mpu train``; three of them have their scikit-learn names.
"""

import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils import check_random_state

from mpu_cli.api.arrays import Annotations, Named
from mpu_cli.core.frequency.label_frequency import refuse_refuted
from mpu_cli.core.frequency.questions import Questions
from mpu_cli.core.options import LINEAR, FrequencyOptions, Options
from mpu_cli.core.predictions import Cells
from mpu_cli.core.sample import Estimates
from mpu_cli.errors import DataError, MpuWarning, counted
from mpu_cli.inputs.training_data import cautions_of
from mpu_cli.people import suggestions
from mpu_cli.people.posteriors import Choice, Evidence, Scored
from mpu_cli.runtime.options import Integer, Option, Threads, in_order_of, options_of
from mpu_cli.runtime.options import checked as checked_as
from mpu_cli.runtime.run import Run, no_observer


class _RandomState(Integer):
    """A seed, or the random state from which scikit-learn draws one."""

    type = "int, RandomState or None"

    def check(self, value: Any) -> int:
        """Return the seed, or draw one if it is not a number."""
        if value is None or isinstance(value, np.random.RandomState):
            return int(check_random_state(value).randint(1 << 31))
        return int(super().check(value))


class _Jobs(Threads):
    """A number of threads, as joblib interprets it."""

    type = "int or None"

    def check(self, value: Any) -> int:
        """Return a number from 1: None is one, unless joblib's `parallel_config` sets another; -2 all cores but one."""
        if value is None or (isinstance(value, Integral) and value < -1):
            return int(effective_n_jobs(value))
        return int(super().check(value))


# What differs in Python: names as in scikit-learn, and kinds that take other values.
_IN_PYTHON: dict[str, dict[str, Any]] = {
    "cost": {"name": "C"},
    "seed": {"name": "random_state", "kind": _RandomState(0)},
    "jobs": {"name": "n_jobs", "kind": _Jobs(-1)},
}
# Keyed by the option's name; each contains its Python name.
DECLARED: dict[str, Option] = {
    name: replace(option, **_IN_PYTHON.get(name, {}))
    for name, option in (options_of(Options) | options_of(Run)).items()
}


def checked(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Check parameters, and return them as plain Python values, ``auto`` as None.

    `parameters`: any of those in `DECLARED`, by option name.
    Raises DataError (a parameter has the wrong type or is out of range).
    """
    return {name: DECLARED[name].check(value) for name, value in parameters.items()}


def of_estimator(estimator: Any, named: Named | None = None) -> dict[str, Any]:
    """Check and return an estimator's parameters, as `checked` does, and `step`, which reports progress.

    `named`: the labels, whose names may be the keys of c; c is 1 if each instance has one of them.
    """
    step = _saying if checked_as(Integer(0), "verbose", int(estimator.verbose)) else no_observer
    given = {name: getattr(estimator, option.name) for name, option in DECLARED.items()}
    if named is not None:
        classes = named.of_columns
        given["c"] = in_order_of(classes, c := given["c"], "c", "the classes")
        if isinstance(c, Mapping):
            if unknown := c.keys() - set(classes.tolist()):
                raise DataError(f"c has a number for {min(unknown, key=str)!r}, which is not among the classes")
            given["c"] = [c.get(name, np.nan) for name in classes.tolist()]
    chosen = checked(given) | {"step": step}
    return chosen if named is None or not named.one_each else chosen | {"c": 1.0}


@contextmanager
def _saying(name: str, ticks: int | None = None) -> Iterator[Callable[[], None]]:
    """Print each step with its seconds."""
    start = time.perf_counter()
    yield lambda: None
    print(f"[mpu] {name}: {time.perf_counter() - start:.1f} s", flush=True)


def questions(chosen: Mapping[str, Any], annotations: Annotations, n: int, scores: np.ndarray | None) -> Questions:
    """Draw questions as `mpu suggest --questions` does, in the caller's columns; use scores if given."""
    n = checked_as(Integer(1), "n", n)
    options = FrequencyOptions(features=LINEAR, folds=chosen["folds"], sample=chosen["sample"])
    drawn = Scored(annotations, options, run_of(chosen), scores).questions(n)
    return replace(drawn, columns=annotations.columns[drawn.columns])


def rates(c: Any, annotations: Annotations) -> np.ndarray:
    """Return c of each learned label, from one number, or from one for each of the caller's labels.

    DataError if the annotations contradict c.
    """
    width = annotations.width
    if np.ndim(c) and np.shape(c) != (width,):
        raise DataError(
            f"c has shape {np.shape(c)}, and y has {counted(width, 'label')}: give one number, or one for each"
        )
    of_labels = annotations.of_labels(np.broadcast_to(np.asarray(c, float), (width,)))
    refuse_refuted(of_labels, annotations.labels, annotations.verified, lambda k: str(annotations.columns[k]))
    return of_labels


def missing_labels(evidence: Evidence, annotations: Annotations, top: int | None) -> Cells:
    """List probably missing labels as `mpu suggest` does, in the caller's columns."""
    top = top if top is None else checked_as(Integer(1), "top", top)
    listed = suggestions.find(evidence, annotations, annotations.columns, Choice(top, least=0.0)).listed
    return replace(listed, columns=annotations.columns[listed.columns])


def options(chosen: Mapping[str, Any], annotations: Annotations) -> Options:
    """Return the chosen options, with c for the learned labels; DataError if the annotations contradict c."""
    values = {name: chosen[name] for name in options_of(Options)}
    if (c := values["c"]) is not None:
        of_labels = rates(c, annotations)
        values["c"] = of_labels if np.ndim(c) else c
    return Options(**values)


def warn_of(estimates: Estimates, annotations: Annotations) -> None:
    """Warn the caller's caller of what is uncertain about c, with labels named by the caller's columns."""
    cautions = cautions_of(estimates, annotations, lambda k: str(annotations.columns[k]))
    for text in (*estimates.warnings(), *cautions):
        warnings.warn(text, MpuWarning, stacklevel=3)


def run_of(chosen: Mapping[str, Any]) -> Run:
    """Return the chosen run options."""
    return Run(**{name: chosen[name] for name in (*options_of(Run), "step") if name in chosen})
