"""One problem of positive and unlabelled instances a label, after Elkan and Noto (KDD 2008).

"Learning Classifiers from Only Positive and Unlabeled Data", Section 2: if the annotated instances are a random share
c = Pr(s=1 | y=1) of the true ones, g(x) = Pr(s=1 | x) is c Pr(y=1 | x). So g is an ordinary classifier of annotated
against other instances, c is estimated from its values on held-out instances, and a label is predicted if
g(x) / c >= 0.5. Section 3: or a second classifier is trained on the annotated as positives and on every other instance
twice, as a positive with weight w(x) = Pr(y=1 | x, s=0) = (1-c)/c * g/(1-g) and as a negative with weight 1 - w(x).
What the paper leaves open: docs/choices/baselines.md, "Choices of Elkan and Noto's method".
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.features import Features
from mpu_cli.core.frequency.estimators import estimate, estimate_per_label
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.limits import refuse_large_sample, refuse_large_weights
from mpu_cli.core.problem import Rows
from mpu_cli.core.sample import Sample
from mpu_cli.core.sgd import Settings, TrainingSet, default_epochs, default_settings, train_linear
from mpu_cli.core.stacking import StackedModel
from mpu_cli.core.trials import Trial, choose_settings
from mpu_cli.core.validation import deal, default_folds, out_of_fold, split
from mpu_cli.methods.baselines import Elkan08Options
from mpu_cli.runtime.run import DEFAULT_RUN, Run
from mpu_cli.runtime.steps import Step


@dataclass(frozen=True)
class Elkan08Findings:
    """The report of a training."""

    c: np.ndarray  # float64, shape (q,): label frequency of each label
    own: int  # number of labels with enough annotations for their own estimate
    settings: Settings  # C, eta0 and epochs of the classifiers


@dataclass(frozen=True)
class Ratio:
    """Pr(y=1 | x) as g(x) / c, cut off at 1."""

    annotated: StackedModel  # g(x) = Pr(s=1 | x)
    c: np.ndarray  # float64, shape (q,): label frequencies

    @property
    def thresholds(self) -> np.ndarray:
        """Of g / c: float32, shape (q,)."""
        return self.annotated.thresholds

    @property
    def n_features(self) -> int:
        """Number of features D."""
        return self.annotated.n_features

    def probabilities(self, matrix: csr_array, run: Run = DEFAULT_RUN) -> np.ndarray:
        """G / c of instances: float32, shape (n, q)."""
        return np.minimum(self.annotated.probabilities(matrix, run) / self.c.astype(np.float32), np.float32(1))

    def predictions(self, matrix: csr_array, run: Run = DEFAULT_RUN, most: int | None = None) -> np.ndarray:
        """Return the same."""
        return self.probabilities(matrix, run)


def train(
    matrix: csr_array, labels: csr_array, options: Elkan08Options, run: Run = DEFAULT_RUN
) -> tuple[StackedModel | Ratio, Elkan08Findings]:
    """Train a classifier for each label; each label is annotated at least once.

    `options.c_method` is the estimator of c, the paper's Section 2. With the `elkan_variant` "ratio", a label is
    predicted if g/c >= 0.5; with "weighted", if a classifier of weighted instances gives at least 0.5. The model has
    one level and thresholds 0.5. TooLargeError where its weights or predictions would not fit in memory.
    """
    n, q = labels.shape
    refuse_large_weights(matrix.shape[1], q)  # they are dense, for any number of labels
    held_out_instances = n if options.elkan_variant == "weighted" else min(n, options.sample)
    refuse_large_sample(held_out_instances, q, "train on fewer instances, or fewer labels")
    features = Features.of(matrix)
    ones = LabelFrequency.of(1.0, labels.shape)
    sample = Sample(Rows(features, labels), options.sample, options.folds, run)
    epochs = options.epochs or default_epochs(n, features.coherence)
    settings = default_settings(epochs, features.coherence)
    if options.cost is None:
        with run.step(Step.CHOOSE_C, None) as tick:
            choice = choose_settings(Trial(sample.folds, sample.labels, ones), settings, run=run, tick=tick)
        settings, held_out = sample.transferred(choice.settings), choice.probabilities
    else:
        settings = replace(settings, cost=options.cost)
        with run.step(Step.OUT_OF_FOLD, sample.m) as tick:
            held_out = out_of_fold(sample.folds, sample.labels.shape, ones, settings, run, tick)
    c, own = _frequencies(held_out, sample.labels, options.c_method)

    if options.elkan_variant == "weighted":
        if sample.share < 1:
            rows = deal(n, options.folds or default_folds(n), run.seed)
            folds = (split(features, labels, held, run) for held in rows)
            with run.step(Step.WEIGHTS, len(rows)) as tick:
                held_out = out_of_fold(folds, labels.shape, ones, settings, run, tick)
        labels = weights(held_out, labels, c)
    del sample, held_out
    with run.step(Step.TRAIN, None):
        data = TrainingSet(features, labels, np.arange(n), run)
        level = train_linear(data, ones, settings)
    thresholds = np.full(q, 0.5, np.float32)
    stacked = StackedModel((level,), 0.0, thresholds)
    model = Ratio(stacked, c) if options.elkan_variant == "ratio" else stacked
    return model, Elkan08Findings(c, own, settings)


def _frequencies(probabilities: np.ndarray, labels: csr_array, method: str) -> tuple[np.ndarray, int]:
    """Estimate c of each label with enough annotations, and one for the others. Return c and how many have enough."""
    pooled = estimate(probabilities, labels, method)
    alone = estimate_per_label(probabilities, labels, method)
    return np.array([(own or pooled).c for own in alone]), sum(own is not None for own in alone)


def weights(probabilities: np.ndarray, labels: csr_array, c: np.ndarray) -> csr_array:
    """Weights of instances as positives (Elkan and Noto 2008, Section 3): csr_array of float32, shape (n, q).

    1 for the annotated, w(x) = (1-c)/c * g/(1-g) for the others, clipped to 1, which it reaches at g = c;
    `probabilities` are g(x) = Pr(s=1 | x), and c is that of each label.
    """
    c = c.astype(np.float32)
    g = np.minimum(probabilities, c)
    w = (1 - c) / c * g / np.maximum(1 - g, np.finfo(np.float32).tiny)  # 0 at c = 1, even if g = 1
    return csr_array(np.where(labels.toarray(), np.float32(1), w))
