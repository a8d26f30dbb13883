"""What a method is."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:  # help texts need methods, and no NumPy
    import numpy as np
    from scipy.sparse import csr_array

    from mpu_cli.core.data.predictions import Predictions
    from mpu_cli.core.select.warm_start import WarmStart
    from mpu_cli.runtime.run import Run


class Model(Protocol):
    """What every method learns.

    Attributes
    ----------
    thresholds : ndarray of float32, shape (q,)
        A label is predicted where its probability is at least its threshold: each method's own published rule.
    n_features : int
        Number of features D.
    """

    @property
    def thresholds(self) -> "np.ndarray": ...  # noqa: D102

    @property
    def n_features(self) -> int: ...  # noqa: D102

    def probabilities(self, matrix: "csr_array", run: "Run" = ...) -> "np.ndarray":
        """Return a number in [0, 1] for each of n instances and q labels: float32, n x q."""

    def predictions(self, matrix: "csr_array", run: "Run" = ..., most: int | None = None) -> "Predictions":
        """Return the same; of many labels only the largest of each instance, or so many, as a sparse matrix."""


@dataclass(frozen=True)
class Task:
    """What a method gets.

    Attributes
    ----------
    matrix : csr_array, shape (n, D), float32
        Features.
    labels : csr_array of bool, shape (n, q)
        Annotated labels: q >= 1, each column with at least one; of a method that takes "label_features", some column.
    options : object
        An instance of the method's options.
    run : Run
    unlabeled : csr_array, shape (m, any), float32, or None
        The instances that a transductive method labels.
    start : WarmStart or None
        Where training starts, for a method that takes "warm_start".
    hold_out_all : bool
        Whether all instances are to be predicted out of fold, by a method that takes "oof".
    """

    matrix: "csr_array"
    labels: "csr_array"
    options: Any
    run: "Run"
    unlabeled: "csr_array | None" = None
    start: "WarmStart | None" = None
    hold_out_all: bool = False


@dataclass(frozen=True)
class Fitted:
    """A model and what its training found.

    Attributes
    ----------
    model : Model
    findings : dict
        JSON values that go into the report and the model's record; the same for the same seed.
    c : ndarray of float64, shape (q,)
        Label frequency that was used; ones where the method knows none.
    warnings : tuple of str
        What the user should know before trusting the model.
    seconds : dict
        Wall time of each step.
    out_of_fold : ndarray or csr_array of float32, shape (n, q), or None
        Predictions of all instances by models that have not seen them, where the task asks for them.
    """

    model: Model
    findings: dict
    c: "np.ndarray"
    warnings: tuple[str, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict)
    out_of_fold: "Predictions | None" = None

    @classmethod
    def without_c(cls, task: Task, model: Model, report: Any, warnings: tuple[str, ...] = ()) -> "Fitted":
        """Take what a method has found that knows no label frequency."""
        import numpy as np

        findings = {name: value for name, value in asdict(report).items() if value is not None}
        return cls(model, findings, np.ones(task.labels.shape[1]), warnings)


def _nothing_needed() -> None:
    """Pass: what mpu needs is all that the method needs."""


@dataclass(frozen=True)
class Method:
    """A method that the command line and the estimator know by its name.

    Attributes
    ----------
    name, help : str
    options : type
        A dataclass whose fields are made by `runtime.options.option`.
    fit : callable
    takes : tuple of str
        Which options of `mpu train` it has beyond its own: "warm_start", "resume", "reviewed", "reviewed_wins",
        "complete".
    transductive : bool
        Whether it labels given instances while it learns, and no others.
    check : callable
        Raises an MpuError where a package that the method needs is not installed.
    """

    name: str
    help: str
    options: type
    fit: Callable[[Task], Fitted]
    takes: tuple[str, ...] = ()
    transductive: bool = False
    check: Callable[[], object] = _nothing_needed


def one_or_list(c: "np.ndarray") -> float | list[float]:
    """Return a label frequency as a JSON value: a number where it is the same for all labels, else a list."""
    return float(c[0]) if (c == c[0]).all() else c.tolist()
