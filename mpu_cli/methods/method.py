"""Methods: their interface, the arguments that they get, and their results."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:  # help texts need methods, but no NumPy
    import numpy as np
    from scipy.sparse import csr_array

    from mpu_cli.core.predictions import Predictions
    from mpu_cli.core.problem import Problem
    from mpu_cli.runtime.run import Run


class Model(Protocol):
    """A trained model of any method.

    Attributes
    ----------
    thresholds : ndarray of float32, shape (q,)
        A label is predicted if its probability is at least its threshold, by the published rule of each method.
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
        """Return the same; with many labels, or `most`, a sparse matrix of the largest of each instance."""


@dataclass(frozen=True)
class Task:
    """The arguments of a method.

    Attributes
    ----------
    problem : Problem
        q >= 1 labels. Each is annotated at least once, unless the method takes "label_features".
    options : object
        An instance of the method's options.
    run : Run
    unlabeled : csr_array, shape (m, any), float32, or None
        The instances that a transductive method labels.
    """

    problem: "Problem"
    options: Any
    run: "Run"
    unlabeled: "csr_array | None" = None


@dataclass(frozen=True)
class Fitted:
    """A model with the results of its training.

    Attributes
    ----------
    model : Model
    findings : dict
        JSON values that go into the report and the model's record; the same for the same seed.
    c : ndarray of float64, shape (q,)
        Label frequency of the method; ones if it has none.
    warnings : tuple of str
        Warnings for the user of the model.
    seconds : dict
        Wall time of each step.
    """

    model: Model
    findings: dict[str, Any]
    c: "np.ndarray"
    warnings: tuple[str, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict)

    @classmethod
    def without_c(cls, task: Task, model: Model, report: Any, warnings: tuple[str, ...] = ()) -> "Fitted":
        """Return the results of a method without a label frequency."""
        import numpy as np

        findings = {name: value for name, value in asdict(report).items() if value is not None}
        return cls(model, findings, np.ones(task.problem.labels.shape[1]), warnings)


@dataclass(frozen=True)
class Method:
    """A method by name.

    Attributes
    ----------
    name, help : str
    options : type
        A dataclass whose fields are made by `runtime.options.option`.
    fit : callable
    transductive : bool
        Whether it labels only instances that it has during training.
    parse : callable or None
        Makes the options of what stands after the name in `mpu experiment`, where that is not ``option=value`` alone.
    """

    name: str
    help: str
    options: type
    fit: Callable[[Task], Fitted]
    transductive: bool = False
    parse: Callable[[Sequence[str]], Any] | None = None


def one_or_list(c: "np.ndarray") -> float | list[float]:
    """Return a label frequency as a JSON value: a number if it is the same for all labels, else a list."""
    return float(c[0]) if (c == c[0]).all() else c.tolist()
