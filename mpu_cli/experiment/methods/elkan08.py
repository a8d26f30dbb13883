"""One problem of positive and unlabelled instances per label, after Elkan and Noto (KDD 2008).

"Learning Classifiers from Only Positive and Unlabeled Data", Section 2: if the annotated instances are a random share
c = Pr(s=1 | y=1) of the true ones, g(x) = Pr(s=1 | x) is c Pr(y=1 | x). So g is an ordinary classifier of annotated
against other instances, c is estimated from its values on held-out instances, and a label is predicted if
g(x) / c >= 0.5. Its Section 3, and choices that it leaves open:
docs/choices/baselines.md, "Choices of Elkan and Noto's method".
"""

from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.features import Features
from mpu_cli.core.frequency.estimators import FEWEST_ANNOTATIONS, CountedCells, elkan_and_noto
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.predictions import refuse_large_sample, refuse_too_large
from mpu_cli.core.problem import Instances, kin_of
from mpu_cli.core.sample import Sample, step_for_all
from mpu_cli.core.selection import Trial, choose_settings
from mpu_cli.core.sgd import LearningTask, Split, default_settings
from mpu_cli.core.validation import dense_out_of_fold, train_splits
from mpu_cli.runtime.run import DEFAULT_RUN, Run

# Maximum number of instances for the choice of C and the estimate of c.
_SAMPLE = 20_000


class Method:
    """A classifier for each label.

    `cost`, `epochs`, `folds`: C, passes over the data and folds of a cross-validation; None: chosen.
    """

    def __init__(
        self, cost: float | None = None, epochs: int | None = None, folds: int | None = None, run: Run = DEFAULT_RUN
    ) -> None:
        self.cost, self.epochs, self.folds, self.run = cost, epochs, folds, run

    def fit(self, X: csr_array, S: csr_array) -> None:
        """Learn; TooLargeError if weights or predictions would not fit in memory."""
        (n, q), run = S.shape, self.run
        refuse_too_large(X.shape[1], q, levels=1, is_dense=True)
        refuse_large_sample(min(n, _SAMPLE), q, "train on fewer instances, or fewer labels")
        features = Features.of(X)
        ones = LabelFrequency.of(1.0, S.shape)
        sample = Sample(Instances(features, S, kin=kin_of(X)), _SAMPLE, self.folds, run)
        settings = default_settings(features, self.epochs)
        if self.cost is None:
            _, settings, held_out = choose_settings(Trial(sample.task(ones, settings), sample.fold_rows))
            settings = step_for_all(settings, sample.share)
        else:
            settings = replace(settings, cost=self.cost)
            held_out = dense_out_of_fold(sample.task(ones, settings), sample.fold_rows)
        every, labels = np.arange(q), sample.labels
        enough = labels.sum(axis=0) >= FEWEST_ANNOTATIONS  # the others have c of all labels
        cells = CountedCells.of(held_out, labels)
        self.c = np.full(q, elkan_and_noto(cells, "e1"))
        self.c[enough] = [elkan_and_noto(cells.of_labels(every[[k]]), "e1") for k in every[enough]]
        self.model, _ = train_splits([Split(LearningTask(features, S, ones, settings, run), (np.arange(n),))])

    def predict(self, X: csr_array) -> np.ndarray:
        """Return g / c, clipped to 1."""
        g = self.model.probabilities(Features.of(X), self.run)
        return np.minimum(g / self.c.astype(np.float32), np.float32(1))
