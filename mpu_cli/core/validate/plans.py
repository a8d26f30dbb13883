"""Strategies of held-out predictions: which models a level learns, from which instances, and which predicts whom.

- Cross-validation: a model of all instances, and for each fold a model of the others, which predicts it.
- Two halves: each half is learned in one pass and predicts the other, and the mean of both is the model of all
  instances. Where a pass over half of them is enough to learn from, a third training has nothing to add: the mean of
  models of parts, each learned with larger steps, is as good as one model of all (McDonald, Hall and Mann 2010,
  "Distributed training strategies for the structured perceptron"; Zinkevich et al. 2010, "Parallelized stochastic
  gradient descent").
- Progressive validation: one pass over all instances, whose last ones are predicted before they are learned from. Their
  predictions are out of sample, and cost no training of their own (Blum, Kalai and Langford 1999, "Beating the
  hold-out: bounds for k-fold and progressive cross-validation").

One machine and a cluster carry out the same plans.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from mpu_cli.core.loss import loss_named
from mpu_cli.core.solver.sgd import Settings
from mpu_cli.core.validate.validation import default_folds, fold_of, leading

# A half makes half of the steps.
LARGER_STEPS = 2.0

T = TypeVar("T")


@dataclass(frozen=True)
class Selection:
    """Some instances of each part: one of its folds, or all but that fold.

    Attributes
    ----------
    folds : int
        Number of folds that each part is dealt into; 1: all of its instances are meant.
    fold : int
    inside : bool
        Whether the instances of the fold are meant, and not the others.
    """

    folds: int = 1
    fold: int = 0
    inside: bool = False

    def rows(self, n: int, seed: int) -> np.ndarray:
        """Return which of the n instances of a part are meant, ascending; the seed is that of the part."""
        if self.folds == 1:
            return np.arange(n)
        held_out = fold_of(n, self.folds, self.fold, seed)
        return held_out if self.inside else np.delete(np.arange(n), held_out)


EVERYTHING = Selection()


@dataclass(frozen=True)
class Chain(Generic[T]):
    """A model that learns from some instances after others, each in one pass if there are several.

    Attributes
    ----------
    learned : tuple
        What it learns from, in this order: selections, or arrays of rows.
    predicted : selection, array, or None
        What is predicted when it has learned from the first of them.
    """

    learned: tuple[T, ...]
    predicted: T | None = None


@dataclass(frozen=True)
class Plan:
    """How a level is learned.

    Attributes
    ----------
    whole : tuple of Chain
        Their mean is the model of all instances.
    folds : tuple of Chain
        Models that only predict.
    larger_steps : float
        Factor of the steps of the former.
    """

    whole: tuple[Chain[Selection], ...]
    folds: tuple[Chain[Selection], ...] = ()
    larger_steps: float = 1.0

    @property
    def chains(self) -> tuple[Chain[Selection], ...]:
        """Return all models that are learned."""
        return self.whole + self.folds

    @property
    def is_progressive(self) -> bool:
        """Whether instances are predicted before they are learned from."""
        return len(self.whole[0].learned) > 1

    @classmethod
    def cross_validation(cls, m: int, n_held_out: int | None = None) -> "Plan":
        """Deal the instances into m folds, and predict the first ones, or all."""
        return cls((Chain((EVERYTHING,)),), tuple(_held_out(m, range(m if n_held_out is None else n_held_out))))

    @classmethod
    def halves(cls) -> "Plan":
        """Learn from each of two folds, which predicts the other."""
        return cls(tuple(_held_out(2, range(2))), larger_steps=LARGER_STEPS)

    @classmethod
    def progressive(cls, m: int) -> "Plan":
        """Learn from all but one of m folds, predict that fold, and learn from it."""
        last = Selection(m, inside=True)
        return cls((Chain((Selection(m), last), last),))

    @classmethod
    def of(
        cls, n: int, enough: int, settings: Settings, folds: int | None, *, warm: bool = False, many: bool = False
    ) -> "Plan":
        """Return how a level is learned.

        Parameters
        ----------
        n : int
            Number of instances.
        enough : int
            So many are to be predicted, at least.
        settings : Settings
        folds : int or None
            Of cross-validation; None: by the number of instances.
        warm : bool
            Whether the model of all instances begins with the weights of another, which may have seen all of them.
        many : bool
            Whether labels are many: the rarest are in one half only, and the mean of sparse weights is less sparse.
        """
        m = folds or default_folds(n)
        is_one_pass = not warm and settings.epochs == 1 and loss_named(settings.loss).has_step
        if is_one_pass and n >= 2 * enough:
            return cls.progressive(n // enough)
        if is_one_pass and m == 2 and enough >= n and not many:
            return cls.halves()
        return cls.cross_validation(m, leading([range(f, n, m) for f in range(min(m, n))], enough))


def _held_out(m: int, folds: range) -> Iterator[Chain[Selection]]:
    for fold in folds:
        yield Chain((Selection(m, fold),), Selection(m, fold, inside=True))
