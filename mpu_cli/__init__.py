"""Multi-label learning when part of the training labels is missing.

The names below are imported when they are first used, so that ``import mpu_cli`` takes no time.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from mpu_cli.version import __version__

if TYPE_CHECKING:
    from mpu_cli.api.analysis import (
        OutOfFold,
        Thresholds,
        c_from_review,
        calibrate,
        choose_thresholds,
        estimate_c,
        missing_labels,
        out_of_fold,
        questions,
    )
    from mpu_cli.api.any_classifier import IncompleteLabelClassifier
    from mpu_cli.api.estimator import MPUClassifier, load
    from mpu_cli.api.scoring import corrected_metrics, incomplete_f1_scorer, jain_propensities, ranking_metrics
    from mpu_cli.core.frequency.estimators import FrequencyEstimate
    from mpu_cli.core.frequency.questions import Questions
    from mpu_cli.core.frequency.review_frequency import ReviewedFrequency
    from mpu_cli.errors import MpuError, MpuWarning
    from mpu_cli.people.posterior import unannotated_posterior
    from mpu_cli.text.vectorizer import Vectorizer

__all__ = [
    "FrequencyEstimate",
    "IncompleteLabelClassifier",
    "MPUClassifier",
    "MpuError",
    "MpuWarning",
    "OutOfFold",
    "Questions",
    "ReviewedFrequency",
    "Thresholds",
    "Vectorizer",
    "__version__",
    "c_from_review",
    "calibrate",
    "choose_thresholds",
    "corrected_metrics",
    "estimate_c",
    "incomplete_f1_scorer",
    "jain_propensities",
    "load",
    "missing_labels",
    "out_of_fold",
    "questions",
    "ranking_metrics",
    "unannotated_posterior",
]

_MODULES = {
    "mpu_cli.api.analysis": (
        "OutOfFold",
        "Thresholds",
        "c_from_review",
        "calibrate",
        "choose_thresholds",
        "estimate_c",
        "missing_labels",
        "out_of_fold",
        "questions",
    ),
    "mpu_cli.people.posterior": ("unannotated_posterior",),
    "mpu_cli.core.frequency.estimators": ("FrequencyEstimate",),
    "mpu_cli.core.frequency.questions": ("Questions",),
    "mpu_cli.core.frequency.review_frequency": ("ReviewedFrequency",),
    "mpu_cli.errors": ("MpuError", "MpuWarning"),
    "mpu_cli.api.estimator": ("MPUClassifier", "load"),
    "mpu_cli.api.any_classifier": ("IncompleteLabelClassifier",),
    "mpu_cli.api.scoring": ("corrected_metrics", "incomplete_f1_scorer", "jain_propensities", "ranking_metrics"),
    "mpu_cli.text.vectorizer": ("Vectorizer",),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULE_OF[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
