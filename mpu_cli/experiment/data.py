"""The data of an experiment: the pooled instances of several files, and their name."""

from collections.abc import Sequence
from itertools import takewhile

import numpy as np

from mpu_cli.core.data.features import Features
from mpu_cli.core.data.problem import Rows
from mpu_cli.core.frequency.estimators import REPLICATES, estimate
from mpu_cli.core.options import Validation
from mpu_cli.core.select.sample import Sample
from mpu_cli.errors import MpuError
from mpu_cli.runtime.run import Run
from mpu_cli.svmlight.dataset import Dataset, GrowingCsr
from mpu_cli.svmlight.grammar import Reading
from mpu_cli.svmlight.reader import read
from mpu_cli.svmlight.streams import stem

# An estimate of the label frequency from here on is compatible with complete labels.
_COMPLETE = 0.95


def read_pooled(sources: Sequence[str], reading: Reading, run: Run) -> Dataset:
    """Read files as one set of instances. The labels that occur are renumbered from 0.

    Raises
    ------
    InputError
        A file cannot be read, or a line breaks the grammar.
    MpuError
        No instance has a label.
    """
    labels, features = GrowingCsr(bool), GrowingCsr(np.float32)
    for source in sources:
        part = read(source, reading, run)
        labels.append(part.labels)
        features.append(part.features)
    pooled = Dataset(labels.finish(), features.finish())
    occurring, ids = pooled.occurring_labels()
    if not len(ids):
        raise MpuError(f"{', '.join(sources)}: no instance has a label, so there is nothing to learn")
    return Dataset(occurring, pooled.features)


def incompleteness(data: Dataset, run: Run) -> float | None:
    """Return the label frequency of data whose labels are clearly incomplete; None if they may be complete.

    It is estimated as by `mpu train`. None too if the estimate is unreliable, or its interval reaches 0.95.
    """
    sample = Sample(Rows(Features.of(data.features), data.labels), Validation.sample, Validation.folds, run)
    with run.step("estimate c", sample.m) as tick:
        estimated = estimate(sample.naive_probabilities(tick), sample.labels, replicates=REPLICATES, seed=run.seed)
    assert estimated.interval is not None  # since there are replicates
    return estimated.c if estimated.predictable and estimated.interval[1] < _COMPLETE else None


def dataset_name(sources: Sequence[str]) -> str:
    """Return the common first words of the file names: news-train.svm and news-test.svm give news."""
    names = [stem(source) for source in sources]
    words = takewhile(lambda same: len(set(same)) == 1, zip(*(name.split("-") for name in names), strict=False))
    return "-".join(word for word, *_ in words) or names[0]
