"""Estimate the label frequency c of a file."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mpu_cli.commands.frequencies import frequency_lines
from mpu_cli.core import propensity
from mpu_cli.core.features import Features
from mpu_cli.core.limits import refuse_large_sample, refuse_too_large
from mpu_cli.core.options import Validation
from mpu_cli.core.sample import Sample
from mpu_cli.errors import InputError
from mpu_cli.runtime.run import DEFAULT_RUN, Run
from mpu_cli.svmlight.cache import read
from mpu_cli.svmlight.grammar import DEFAULT_READING, Reading
from mpu_cli.svmlight.streams import open_output

_REPLICATES = 200


@dataclass(frozen=True)
class LabelReport:
    """The label frequency of one label.

    Attributes
    ----------
    label : int
    annotations : int
        Instances that have the label.
    c : float
    interval : tuple of two floats
        Bootstrap 90 % interval.
    pooled : bool
        Whether c is that of all labels, since this one has too few annotations.
    """

    label: int
    annotations: int
    c: float
    interval: tuple[float, float]
    pooled: bool


@dataclass(frozen=True)
class Report:
    """The label frequency of a file.

    Attributes
    ----------
    c : float
    missing_rate : float
        1 - c.
    interval : tuple of two floats
        Bootstrap 90 % interval.
    method : str
    labels_used : int
        Number of labels that the estimate rests on.
    labels, instances : int
        Numbers of labels and instances in the file.
    separable : bool
        Whether a label is told apart well enough by the features to trust the estimate.
    per_label : list of LabelReport or None
        In ascending order of labels; None where that was not asked for.
    caution : str or None
        What to know before trusting the estimate.
    """

    c: float
    missing_rate: float
    interval: tuple[float, float]
    method: str
    labels_used: int
    labels: int
    instances: int
    separable: bool
    per_label: list[LabelReport] | None
    caution: str | None

    def as_json(self) -> dict[str, Any]:
        """Return the numbers as one JSON object."""
        numbers = asdict(self)
        del numbers["caution"]
        if self.per_label is None:
            del numbers["per_label"]
        return numbers


def estimate(
    source: str | Path,
    *,
    method: str = "bbe",
    per_label: bool = False,
    output: str | Path | None = None,
    folds: int | None = None,
    sample: int = Validation.sample,
    cache: Path | None = None,
    reading: Reading = DEFAULT_READING,
    run: Run = DEFAULT_RUN,
) -> Report:
    """Estimate the label frequency of a file by cross-validation.

    Parameters
    ----------
    source : str or Path
        Data with incomplete labels; ``-`` is standard input.
    method : {"bbe", "e1", "e2", "e3"}
        See `propensity.estimate`.
    per_label : bool
        Whether to estimate a label frequency for each label too.
    output : str or Path, optional
        Where to write the frequency of each label, as `read_frequencies` reads it.
    folds : int, optional
        Default: by the number of instances.
    sample : int
        Instances to estimate from, at most; drawn at random.
    cache : Path, optional
        Directory that keeps the parsed data.
    reading : Reading
    run : Run

    Returns
    -------
    Report

    Raises
    ------
    InputError
        The file cannot be read, a line breaks the grammar, or no instance has a label.
    MpuError
        The output cannot be written; TooLargeError where the data do not fit in memory.
    """
    with run.step("read"):
        data = read(source, reading, run, cache)
        labels, ids = data.occurring_labels()
    if not len(ids):
        raise InputError(str(source), None, "no instance has a label, so there is nothing to estimate from")
    refuse_too_large(data.features.shape[1], len(ids), levels=1)
    refuse_large_sample(min(len(data), sample), len(ids))
    drawn = Sample(Features.of(data.features, empty=run.empty), labels, sample, folds, run)
    with run.step("out-of-fold predictions", drawn.m) as tick:
        probabilities = drawn.naive_probabilities(tick)
    with run.step("estimate c"):
        evidence = probabilities, drawn.labels, method, _REPLICATES, run.seed
        pooled = propensity.estimate(*evidence)
        alone = propensity.estimate_per_label(*evidence) if per_label else [None] * len(ids)

    estimates = [found or pooled for found in alone]
    if output is not None:
        with open_output(output) as out:
            out.write(frequency_lines(ids, np.array([found.c for found in estimates])))
    rows = None
    if per_label:
        annotations = np.bincount(labels.indices, minlength=len(ids)).tolist()
        rows = [
            LabelReport(label, count, found.c, _interval(found), found is pooled)
            for label, count, found in zip(ids.tolist(), annotations, estimates, strict=True)
        ]
    return Report(
        pooled.c,
        1 - pooled.c,
        _interval(pooled),
        method,
        len(pooled.labels),
        len(ids),
        len(data),
        pooled.separable,
        rows,
        pooled.caution,
    )


def _interval(found: propensity.FrequencyEstimate) -> tuple[float, float]:
    assert found.interval is not None  # there are replicates
    return found.interval
