"""The training options, in a separate module so that help texts can be shown without importing NumPy."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mpu_cli.core.loss import LOSSES
from mpu_cli.runtime.options import (
    AUTO,
    LEAST_FREQUENCY,
    MOST_EPOCHS,
    MOST_INSTANCES,
    MOST_LEVELS,
    POSITIVE,
    PROBABILITY,
    WEIGHT,
    WEIGHT_OR_0,
    Integer,
    Kind,
    PerLabel,
    declared,
)

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np

# The features that models learn from (`core.selection`): those in the data, perhaps scaled (`core.features`), or
# the features of an RBF kernel.
LINEAR, STANDARDISED, LARGEST, RBF = FEATURES = ("linear", "standardised", "largest", "rbf")
# The criteria for choosing thresholds (`core.thresholds`): one for all labels or, with the last two, one per label.
PU_F1, PER_LABEL, MACRO_F1 = CRITERIA = ("pu-f1", "per-label", "macro-f1")
_OTHERWISE = (
    "if probabilities differ in another way, c is that of the best annotated labels, and more labels are missing; if "
    "features make no label certain, the true c is higher, and fewer are missing"
)
# The assumption of every estimate of c from annotations alone.
ASSUMPTION = (
    "every true label is annotated with the same probability or, if labels clearly differ, with one for each label; "
    f"{_OTHERWISE}"
)
# The additional assumption if nobody may have looked at some instances.
ASSUMPTION_OF_UNREAD = "nobody has looked at the instances without labels, which have as many true labels as the others"
# The assumption if each group of instances has its own estimate.
ASSUMPTION_OF_GROUPS = (
    f"in each group of instances, every true label is annotated with the same probability; {_OTHERWISE}"
)


@dataclass(frozen=True, kw_only=True)
class FrequencyOptions:
    """Options for estimating c from annotations, by out-of-fold predictions from a model with these features."""

    features: str | None = declared(
        Kind(words=(AUTO, *FEATURES)),
        None,
        "linear: the features of the data. standardised, largest: centred if most instances have them, and divided by "
        "their standard deviation or largest absolute value. rbf: an approximate RBF kernel. auto: the one with the "
        "highest expected F1.",
    )
    folds: int | None = declared(
        Integer(2, MOST_INSTANCES, words=(AUTO,)), None, "Cross-validation folds. auto: 2 to 5, fewer for large data."
    )
    sample: int = declared(
        Integer(1, MOST_INSTANCES), 20_000, "Choose c, C, eta0 and the threshold on at most this many random instances."
    )


@dataclass(frozen=True, kw_only=True)
class Options(FrequencyOptions):
    """The user's options for `core.stacking.train`; the data are in a `core.problem.Problem`."""

    loss: str | None = declared(
        Kind(words=(AUTO, *LOSSES)),
        None,
        "Loss function. auto: chosen together with C and eta0, with up to 500 labels.",
    )
    eta0: float | None = declared(
        replace(WEIGHT, words=(AUTO,)),
        None,
        "Initial step size, as a multiple of 1 / the mean squared length of instances.",
    )
    levels: int | None = declared(
        Integer(1, MOST_LEVELS, words=(AUTO,)),
        None,
        "Number of stacked levels. 1 treats labels as independent; 2 learns their correlations. auto: 2, or 1 if "
        "the expected F1 of 1, by nested cross-validation, is higher.",
    )
    c: "np.ndarray | float | Path | None" = declared(
        PerLabel(LEAST_FREQUENCY, 1, some=True, words=(AUTO,)),
        None,
        "Label frequency: the share of the true labels that is annotated. auto: estimated, for each label if "
        "labels clearly differ. 1: labels that are not annotated are false.",
    )
    threshold: str | float = declared(
        replace(PROBABILITY, words=CRITERIA),
        PU_F1,
        "Predict labels with at least this probability. pu-f1: one threshold that maximises expected micro-F1. "
        "per-label: one per label, for micro-F1. macro-f1: one per label, for its own F1.",
    )
    prior: str | float | None = declared(
        replace(WEIGHT_OR_0, words=(AUTO, "none")),
        None,
        "Weight of the label features. auto: by cross-validation. none: unused.",
    )
    epochs: int | None = declared(Integer(1, MOST_EPOCHS, words=(AUTO,)), None, "Passes over the data.")
    cost: float | None = declared(
        replace(POSITIVE, words=(AUTO,)), None, "C, the inverse regularisation strength. auto: by cross-validation."
    )

    @property
    def uses_label_features(self) -> bool:
        """Whether weights are drawn towards the label features, if there are any."""
        return self.prior not in ("none", 0)

    @property
    def needs_label_features(self) -> bool:
        """Whether a weight of the label features is set, so that there must be some."""
        return self.prior is not None and self.uses_label_features
