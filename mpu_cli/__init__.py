"""Multi-label learning when some of the training labels are missing.

Everything below raises ValueError if an argument has the wrong shape, type, value or range, or if no label is
annotated; TypeError if scikit-learn finds a number instead of an array, or a class instead of an estimator; and
MpuError if the data are too large for the memory, or the features for 32-bit numbers.

The names are imported when they are first used, so that ``import mpu_cli`` takes no time.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "1.0.0"

if TYPE_CHECKING:
    from mpu_cli.api.analysis import OutOfFold as OutOfFold
    from mpu_cli.api.analysis import Thresholds as Thresholds
    from mpu_cli.api.analysis import c_from_review as c_from_review
    from mpu_cli.api.analysis import calibrate as calibrate
    from mpu_cli.api.analysis import choose_thresholds as choose_thresholds
    from mpu_cli.api.analysis import estimate_c as estimate_c
    from mpu_cli.api.analysis import missing_labels as missing_labels
    from mpu_cli.api.analysis import out_of_fold as out_of_fold
    from mpu_cli.api.analysis import questions as questions
    from mpu_cli.api.any_classifier import IncompleteLabelClassifier as IncompleteLabelClassifier
    from mpu_cli.api.estimator import MPUClassifier as MPUClassifier
    from mpu_cli.api.estimator import load as load
    from mpu_cli.api.scoring import corrected_metrics as corrected_metrics
    from mpu_cli.api.scoring import incomplete_f1_scorer as incomplete_f1_scorer
    from mpu_cli.api.scoring import jain_propensities as jain_propensities
    from mpu_cli.api.scoring import ranking_metrics as ranking_metrics
    from mpu_cli.core.frequency.estimators import FrequencyEstimate as FrequencyEstimate
    from mpu_cli.core.frequency.questions import Questions as Questions
    from mpu_cli.core.frequency.review_frequency import ReviewedFrequency as ReviewedFrequency
    from mpu_cli.errors import MpuError as MpuError
    from mpu_cli.errors import MpuWarning as MpuWarning
    from mpu_cli.people.posteriors import unannotated_posterior as unannotated_posterior
    from mpu_cli.text.vectorizer import Vectorizer as Vectorizer

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
    "mpu_cli.people.posteriors": ("unannotated_posterior",),
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
__all__ = sorted([*_MODULE_OF, "__version__"])


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULE_OF[name]), name)


def __dir__() -> list[str]:
    return __all__
