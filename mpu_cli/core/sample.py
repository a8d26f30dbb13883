"""The instances by which c, C and eta0 are chosen, in folds ready to learn from."""

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core import sgd
from mpu_cli.core.features import Features
from mpu_cli.core.known_labels import KnownLabels
from mpu_cli.core.label_frequency import LabelFrequency
from mpu_cli.core.validation import Fold, deal, default_folds, out_of_fold, split
from mpu_cli.runtime.run import DEFAULT_RUN, Run

# The best eta0 falls with the number of instances, about as its -1/4th power: docs/choices.md.
_STEP_EXPONENT = 0.25
# C of the classifier of annotated against not annotated; the estimate of c hardly depends on it (docs/choices.md).
_NAIVE_COST = 10.0


def draw(n: int, size: int, seed: int) -> np.ndarray:
    """Draw at most `size` of n instances without replacement; their numbers, ascending."""
    return np.arange(n) if n <= size else np.sort(np.random.default_rng(seed).choice(n, size, replace=False))


class Sample:
    """At most so many of the instances, drawn without replacement.

    Parameters
    ----------
    features : Features, n instances
    labels : csr_array of bool, shape (n, q)
        Annotated labels.
    size : int
        Instances to draw at most; all are taken, in their order, where there are no more.
    m : int or None
        Number of folds; None: by their number.
    run : Run
    known : KnownLabels, optional
        What is known of the instances.

    Attributes
    ----------
    features, labels, known
        Those of the instances in it.
    rows : ndarray of int or slice
        Which they are, ascending.
    share : float
        Of all instances, those that are in it.
    """

    def __init__(
        self,
        features: Features,
        labels: csr_array,
        size: int,
        m: int | None,
        run: Run = DEFAULT_RUN,
        known: KnownLabels | None = None,
    ) -> None:
        self.share = min(size / len(features), 1.0)
        self.rows: np.ndarray | slice = slice(None)
        if self.share < 1:
            self.rows = draw(len(features), size, run.seed)
            features, labels = features[self.rows], labels[self.rows]
            known = known and known.rows(self.rows)
        self.features, self.labels, self.known = features, labels, known
        self._fold_rows = deal(len(features), m or default_folds(len(features)), run.seed)
        self._run = run

    @property
    def m(self) -> int:
        """Number of folds there are."""
        return len(self._fold_rows)

    @cached_property
    def folds(self) -> list[Fold]:
        """The folds, made once for all settings tried on them."""
        return [split(self.features, self.labels, rows, self._run) for rows in self._fold_rows]

    def transferred(self, settings: sgd.Settings) -> sgd.Settings:
        """Turn settings that are best on the sample into those for all instances."""
        return replace(settings, step=settings.step * self.share**_STEP_EXPONENT)

    def naive_probabilities(self, tick: Callable[[], None] = lambda: None) -> np.ndarray:
        """Predict Pr(s=1 | x) out of fold, float32, instances x q: what c is estimated from.

        Learned from the cells whose annotation was left to chance (`KnownLabels.left_to_chance`).
        """
        frequency = LabelFrequency.of(1.0, self.labels.shape, self.known and self.known.left_to_chance())
        coherence = self.features.coherence
        epochs = sgd.default_epochs(len(self.features), coherence)
        settings = sgd.Settings(_NAIVE_COST, sgd.default_step(epochs, coherence), epochs)
        return out_of_fold(self.folds, self.labels.shape, frequency, settings, self._run, tick)
