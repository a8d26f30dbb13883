"""lml-thresholding, lml-cost-sensitive: LibMultiLabel's linear trainers. They need its package (extra ``bench``).

They treat missing labels as negatives. C is LIBLINEAR's default, as in LibMultiLabel's own examples; thresholds and
costs of labels are chosen by its cross-validation for the F1 of the annotations.
"""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from mpu_cli.errors import MpuError, OverflowingError
from mpu_cli.methods.method import Fitted, Method, Task
from mpu_cli.runtime.options import POSITIVE, option
from mpu_cli.runtime.steps import Step

if TYPE_CHECKING:
    from types import ModuleType

    from scipy.sparse import csr_array, csr_matrix


@dataclass(frozen=True, kw_only=True)
class Options:
    """The option of LibMultiLabel's trainers."""

    liblinear_cost: float = option(POSITIVE, 1.0, "C of LIBLINEAR.")


@dataclass(frozen=True)
class LibMultiLabelFindings:
    """The report of a training."""

    libmultilabel: str  # version of the package


def fit(task: Task, trainer: str) -> Fitted:
    """Train by one of the trainers.

    Raises MpuError (LibMultiLabel is not installed, or cannot learn from these instances), OverflowingError (the
    features are too large for 32-bit numbers).
    """
    from importlib.metadata import version
    from warnings import catch_warnings, simplefilter

    import numpy as np
    from scipy.sparse import csr_matrix

    from mpu_cli.core.data.limits import refuse_large_weights
    from mpu_cli.core.model.stacking import LinearModel, StackedModel

    linear = _linear()
    D, q = task.problem.features.shape[1], task.problem.labels.shape[1]
    refuse_large_weights(D, q)
    options = f"-s 2 -c {task.options.liblinear_cost!r} -B 1 -e 0.0001 -m 1"  # in the primal: the same result each time
    state = np.random.get_state()  # noqa: NPY002 (its folds are drawn from this generator)
    try:
        np.random.seed(task.run.seed)  # noqa: NPY002
        with task.run.step(Step.TRAIN), catch_warnings():
            simplefilter("ignore")  # it uses deprecated NumPy matrices, and divides by 0
            trained: Any = getattr(linear, trainer)(
                _labels(task.problem.labels),
                csr_matrix(task.problem.features, dtype=np.float64),
                options=options,
                verbose=False,
            )
    except (IndexError, ValueError) as error:  # as with fewer instances than folds
        raise MpuError(f"LibMultiLabel cannot learn from these {len(task.problem):,} instances: {error}") from error
    finally:
        np.random.set_state(state)  # noqa: NPY002
    weights = np.asarray(trained.weights, np.float32)
    if not np.isfinite(weights).all():
        raise OverflowingError
    biases = weights[D] * np.float32(trained.bias) + np.asarray(trained.thresholds, np.float32)
    above = np.full(q, np.nextafter(np.float32(0.5), np.float32(1)))  # a label is predicted if its score is positive
    model = StackedModel((LinearModel(weights[:D].copy(), np.asarray(biases, np.float32)),), 0.0, above)
    return Fitted.without_c(task, model, LibMultiLabelFindings(version("libmultilabel")))


def _labels(labels: "csr_array") -> "csr_matrix":
    """Return labels in the form that the trainers need.

    LibMultiLabel 0.10 sums the columns of a matrix along "axis 2", which SciPy no longer accepts as axis 0.
    """
    from scipy.sparse import csc_matrix, csr_matrix

    class Columns(csc_matrix):
        def sum(self, axis: int | None = None, **options: Any) -> Any:
            return super().sum(axis=0 if axis == 2 else axis, **options)

    class Rows(csr_matrix):
        def tocsc(self, copy: bool = False) -> Any:
            return Columns(super().tocsc(copy))

    return Rows(labels, dtype="int64")


def _linear() -> "ModuleType":
    try:
        from libmultilabel import linear
    except ImportError as error:
        raise MpuError(
            f"this method needs LibMultiLabel, which cannot be imported ({error}); install it with: "
            "pip install libmultilabel"
        ) from error
    return linear


METHODS = tuple(
    Method(f"lml-{name}", f"LibMultiLabel's {what}.", Options, partial(fit, trainer=trainer), check=_linear)
    for name, what, trainer in (
        ("thresholding", "thresholds chosen label by label", "train_thresholding"),
        ("cost-sensitive", "weights of positives chosen label by label", "train_cost_sensitive"),
    )
)
