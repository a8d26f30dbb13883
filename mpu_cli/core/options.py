"""The options of a training. They stand apart from it so that help texts need no NumPy."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mpu_cli.core.loss import LOSSES
from mpu_cli.runtime.options import (
    AUTO,
    FREQUENCY,
    MOST_EPOCHS,
    MOST_INSTANCES,
    MOST_LEVELS,
    POSITIVE,
    PROBABILITY,
    WEIGHT,
    WEIGHT_OR_0,
    PerLabel,
    Whole,
    WordOr,
    Words,
    option,
)

if TYPE_CHECKING:
    import numpy as np

# What instances are learned by (`core.selection`): their own features, perhaps scaled (`core.features`), or
# features of an RBF kernel.
LINEAR, STANDARDISED, LARGEST, RBF = FEATURES = ("linear", "standardised", "largest", "rbf")
# By what thresholds are chosen (`core.thresholds`): one for all labels, or, by the last two, one for each.
PU_F1, PER_LABEL, MACRO_F1 = CRITERIA = ("pu-f1", "per-label", "macro-f1")


@dataclass(frozen=True, kw_only=True)
class Validation:
    """How settings are chosen by cross-validation."""

    folds: int | None = option(
        WordOr((AUTO,), Whole(2, MOST_INSTANCES)),
        None,
        "Cross-validation folds. auto: 5, or 3 for more than 50,000 instances or 500 labels, or 2 for more than "
        "200,000 instances.",
    )
    sample: int = option(
        Whole(1, MOST_INSTANCES), 20_000, "Choose c, C and eta0 on at most this many instances, drawn at random."
    )


@dataclass(frozen=True, kw_only=True)
class FrequencyOptions(Validation):
    """How c is estimated from annotations: by out-of-fold predictions of a model of these features."""

    features: str | None = option(
        WordOr((AUTO,), Words(FEATURES)),
        None,
        "Features that are learned from. linear: of the data. standardised, largest: each divided by its deviation, or "
        "by its largest absolute value. rbf: of an RBF kernel, approximated by Nyström's method, of standardised "
        "features. auto: what has the highest expected F1, of at least 100 instances and if C is chosen; a scaling is "
        "tried where some features are far larger than others, rbf for dense data of up to 500 features, if C is "
        "chosen on all instances.",
    )


@dataclass(frozen=True, kw_only=True)
class Options(FrequencyOptions):
    """What a user chooses of a training by `core.stacking.train`; the data are a `core.labels.problem.Problem`."""

    loss: str | None = option(
        WordOr((AUTO,), Words(LOSSES)),
        None,
        "Loss of a level. auto chooses it with C, by the same criterion; it is pu-logistic with more than 500 labels, "
        "with more instances than C is chosen on, or if C or eta0 is set.",
    )
    eta0: float | None = option(
        WordOr((AUTO,), WEIGHT),
        None,
        "Initial step size, in units of the inverse mean squared length of instances. auto chooses it by "
        "cross-validation, with C; if C is set, it depends on the passes over the data.",
    )
    levels: int | None = option(
        WordOr((AUTO,), Whole(1, MOST_LEVELS)),
        None,
        "Stacked levels, including the first. 1 treats labels as independent, 2 learns their correlations. auto: 2, or "
        "1 if its expected F1 is higher, which is estimated for up to 500 labels and 50,000 instances; 1 where labels "
        "are more, and their names teach.",
    )
    c: "np.ndarray | float | None" = option(
        WordOr((AUTO,), PerLabel(FREQUENCY, some=True)),
        None,
        "Label frequency, the share of the true labels that is annotated. auto estimates it. 1 treats missing "
        "labels as negatives.",
    )
    threshold: str | float = option(
        WordOr(CRITERIA, PROBABILITY),
        PU_F1,
        "Predict labels of at least this probability. pu-f1: one threshold for all labels, which maximises micro-F1 as "
        "estimated for complete labels. per-label: one for each label, by the same criterion. macro-f1: one for each "
        "label, which maximises the expected F1 of this label, so that rare labels count like frequent ones; C, eta0 "
        "and the loss are then chosen for macro-F1 too, of up to 500 labels.",
    )
    prior: str | float | None = option(
        WordOr((AUTO, "none"), WEIGHT_OR_0),
        None,
        "Weight of the features of labels, such as the words of their names: the length of the mean of the prior of a "
        "label's weights. auto chooses it by cross-validation, if there are such features. none does not use them.",
    )
    epochs: int | None = option(
        WordOr((AUTO,), Whole(1, MOST_EPOCHS)),
        None,
        "Passes over the data. auto: by the number of instances and their similarity.",
    )
    cost: float | None = option(
        WordOr((AUTO,), POSITIVE),
        None,
        "C, the inverse strength of regularisation. auto chooses it, and the step size, by cross-validation.",
    )

    @property
    def uses_label_features(self) -> bool:
        """Whether weights are drawn towards features of labels, where there are such."""
        return self.prior not in ("none", 0)
