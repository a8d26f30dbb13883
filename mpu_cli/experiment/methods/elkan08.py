"""One problem of positive and unlabelled instances per label, after Elkan and Noto (KDD 2008).

"Learning Classifiers from Only Positive and Unlabeled Data", Section 2: if the annotated instances are a random share
c = Pr(s=1 | y=1) of the true ones, g(x) = Pr(s=1 | x) is c Pr(y=1 | x). So g is an ordinary classifier of annotated
against other instances, c is estimated from its values on held-out instances, and a label is predicted if
g(x) / c >= 0.5. Section 3: alternatively, a second classifier is trained on the annotated instances as positives and on
every other instance twice, as a positive with weight w(x) = Pr(y=1 | x, s=0) = (1-c)/c * g/(1-g) and as a negative with
weight 1 - w(x). Choices that the paper leaves open: docs/choices/baselines.md, "Choices of Elkan and Noto's method".
"""

from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.features import Features
from mpu_cli.core.frequency.estimators import FEWEST_ANNOTATIONS, CountedCells, estimate
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.predictions import refuse_large_sample, refuse_too_large
from mpu_cli.core.problem import Instances, kin_of
from mpu_cli.core.sample import Sample, step_for_all
from mpu_cli.core.selection import Trial, choose_settings
from mpu_cli.core.sgd import LearningTask, Split, default_settings
from mpu_cli.core.validation import deal, default_folds, dense_out_of_fold, train_splits
from mpu_cli.errors import MpuError
from mpu_cli.runtime.run import DEFAULT_RUN, Run

# Maximum number of instances for the choice of C and the estimate of c.
_SAMPLE = 20_000


class Method:
    """A classifier for each label.

    `c_method`: {"e1", "e2", "e3"}, the estimator of c, for each label.
    `elkan_variant`: {"ratio", "weighted"}: divide g by c, or learn again from weighted instances.
    `cost`, `epochs`, `folds`: C, passes over the data and folds of a cross-validation; None: chosen.
    """

    def __init__(
        self,
        c_method: str = "e1",
        elkan_variant: str = "ratio",
        cost: float | None = None,
        epochs: int | None = None,
        folds: int | None = None,
        run: Run = DEFAULT_RUN,
    ) -> None:
        if c_method not in ("e1", "e2", "e3") or elkan_variant not in ("ratio", "weighted"):
            raise MpuError("c_method is e1, e2 or e3, and elkan_variant is ratio or weighted")
        self.c_method, self.is_weighted = c_method, elkan_variant == "weighted"
        self.cost, self.epochs, self.folds, self.run = cost, epochs, folds, run

    def fit(self, X: csr_array, S: csr_array) -> None:
        """Learn; TooLargeError if weights or predictions would not fit in memory."""
        (n, q), run = S.shape, self.run
        refuse_too_large(X.shape[1], q, levels=1, is_dense=True)
        refuse_large_sample(n if self.is_weighted else min(n, _SAMPLE), q, "train on fewer instances, or fewer labels")
        features = Features.of(X)
        ones = LabelFrequency.of(1.0, S.shape)
        kin = kin_of(X)
        sample = Sample(Instances(features, S, kin=kin), _SAMPLE, self.folds, run)
        settings = default_settings(features, self.epochs)
        if self.cost is None:
            _, (settings, held_out) = choose_settings(Trial(sample.task(ones, settings), sample.fold_rows))
            settings = step_for_all(settings, sample.share)
        else:
            settings = replace(settings, cost=self.cost)
            held_out = dense_out_of_fold(sample.task(ones, settings), sample.fold_rows)
        every, labels = np.arange(q), sample.labels
        enough = labels.sum(axis=0) >= FEWEST_ANNOTATIONS  # the others have c of all labels
        cells = CountedCells.of(held_out, labels)
        self.c = np.full(q, estimate(cells, self.c_method).c)
        self.c[enough] = [estimate(cells.of_labels(np.array([k])), self.c_method).c for k in every[enough]]
        if self.is_weighted:
            if sample.share < 1:
                rows = deal(n, self.folds or default_folds(n), run.seed, kin)
                held_out = dense_out_of_fold(LearningTask(features, S, ones, settings, run), rows)
            S = weights(held_out, S, self.c)
        self.model, _ = train_splits([Split(LearningTask(features, S, ones, settings, run), (np.arange(n),))])

    def predict(self, X: csr_array) -> np.ndarray:
        """Return g / c, clipped to 1, or the predictions of the second classifier."""
        predicted = self.model.probabilities(Features.of(X), self.run)
        return predicted if self.is_weighted else np.minimum(predicted / self.c.astype(np.float32), np.float32(1))


def weights(probabilities: np.ndarray, labels: csr_array, c: np.ndarray) -> csr_array:
    """Return the weights of instances as positives (Elkan and Noto 2008, Section 3): csr_array of float32, (n, q).

    1 for the annotated, w(x) = (1-c)/c * g/(1-g) for the others, clipped to 1, which it reaches at g = c;
    `probabilities` are g(x) = Pr(s=1 | x), and `c` contains the label frequency of each label.
    """
    c = c.astype(np.float32)
    g = np.minimum(probabilities, c)
    w = (1 - c) / c * g / np.maximum(1 - g, np.finfo(np.float32).tiny)  # 0 at c = 1, even if g = 1
    return csr_array(np.where(labels.toarray(), np.float32(1), w))
