"""Propensities of labels for `evaluate`: from training data, or from a file of label frequencies."""

import numpy as np

from mpu_cli.evaluation.propensities import Propensities
from mpu_cli.runtime.run import DEFAULT_RUN, Run
from mpu_cli.svmlight.grammar import DEFAULT_READING, Reading
from mpu_cli.svmlight.reader import iter_chunks
from mpu_cli.training.frequencies import frequencies_of_file


def from_training(
    training: str, a: float, b: float, reading: Reading = DEFAULT_READING, run: Run = DEFAULT_RUN
) -> Propensities:
    """Take the propensities from how often each label is annotated in a data file, which is read chunk by chunk.

    Parameters
    ----------
    training : str
    a, b : float
        As for `mpu_cli.evaluation.propensities.jain_propensities`.
    reading : Reading
    run : Run

    Raises
    ------
    InputError
        The file cannot be read.
    MpuError
        It has too few instances.
    """
    return Propensities.of_annotations((chunk.labels for chunk in iter_chunks(training, reading, run=run)), a, b)


def from_frequencies(path: str) -> Propensities:
    """Take label frequencies that were estimated or reviewed for propensities.

    Parameters
    ----------
    path : str
        Lines ``label c``, as `mpu estimate-c --output` writes them.

    Raises
    ------
    InputError
        The file cannot be read, or a line is something else.
    """
    frequencies = sorted(frequencies_of_file(path).items())
    labels = np.array([label for label, _ in frequencies], np.int64)
    return Propensities(labels, np.array([c for _, c in frequencies], float), source=path)
