"""Where propensities of labels for `evaluate` come from: training data, or a file of label frequencies."""

from dataclasses import dataclass

import numpy as np

from mpu_cli.evaluation.propensities import Propensities
from mpu_cli.runtime.options import PROPENSITY_A, PROPENSITY_B
from mpu_cli.runtime.run import DEFAULT_RUN, Run
from mpu_cli.svmlight.grammar import DEFAULT_READING, Reading
from mpu_cli.svmlight.reader import iter_chunks
from mpu_cli.training.frequencies import frequencies_of_file


@dataclass(frozen=True, kw_only=True)
class PropensitySource:
    """One of two files; with neither, there are no propensities.

    Attributes
    ----------
    training : str or None
        Data, by how often each label is annotated in them.
    a, b : float
        Constants for these, as for `mpu_cli.evaluation.propensities.jain_propensities`.
    frequencies : str or None
        Lines ``label c``, as `mpu estimate-c --output` writes them: label frequencies that were estimated or reviewed.
    """

    training: str | None = None
    a: float = PROPENSITY_A
    b: float = PROPENSITY_B
    frequencies: str | None = None

    def read(self, reading: Reading = DEFAULT_READING, run: Run = DEFAULT_RUN) -> Propensities | None:
        """Return the propensities; data are read chunk by chunk.

        Raises
        ------
        InputError
            The file cannot be read, or a line is something else.
        MpuError
            The data have too few instances.
        """
        if self.training is not None:
            chunks = iter_chunks(self.training, reading, run=run)
            return Propensities.of_annotations((chunk.labels for chunk in chunks), self.a, self.b)
        if self.frequencies is None:
            return None
        frequencies = sorted(frequencies_of_file(self.frequencies).items())
        labels = np.array([label for label, _ in frequencies], np.int64)
        return Propensities(labels, np.array([c for _, c in frequencies], float), source=self.frequencies)
