"""sklearn: any classifier of scikit-learn, or in its conventions, to compare others with in `mpu experiment`.

It learns the annotations, as if what is not annotated were false: all labels at once where it can, else one by one
(`OneVsRestClassifier`). A label is predicted where its probability is at least 0.5.
"""

from ast import literal_eval
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from mpu_cli.errors import MpuError
from mpu_cli.methods.method import Fitted, Method, Task

if TYPE_CHECKING:
    import numpy as np
    from scipy.sparse import csr_array

    from mpu_cli.runtime.run import Run


@dataclass(frozen=True, kw_only=True)
class Options:
    """Which classifier.

    Attributes
    ----------
    estimator : str
        Name of a classifier in scikit-learn, or of any with its module.
    parameters : tuple of (str, object)
        Arguments of its constructor.
    """

    estimator: str = "sklearn.linear_model.LogisticRegression"
    parameters: tuple[tuple[str, Any], ...] = ()

    @classmethod
    def parse(cls, parts: Sequence[str]) -> "Options":
        """Read the name, and ``parameter=value``; MpuError where there is no such classifier or parameter."""
        if not parts:
            raise MpuError("name a classifier, such as sklearn:RandomForestClassifier:n_estimators=400")
        pairs = (part.partition("=") for part in parts[1:])
        options = cls(estimator=parts[0], parameters=tuple((name, _value(text)) for name, _, text in pairs))
        options.made(seed=0)
        return options

    def made(self, seed: int) -> Any:
        """Return the classifier, with this seed if it takes one and has no other."""
        from sklearn.base import is_classifier

        try:
            made = self._type()(**dict(self.parameters))
        except TypeError as error:
            raise MpuError(f"{self.estimator} cannot be made: {error}") from error
        if not is_classifier(made):
            raise MpuError(f"{self.estimator} is no classifier in the conventions of scikit-learn")
        takes_seed = made.get_params().get("random_state", seed) is None
        return made.set_params(random_state=seed) if takes_seed else made

    def _type(self) -> Any:
        module, _, name = self.estimator.rpartition(".")
        try:
            if module:
                return getattr(import_module(module), name)
            from sklearn.utils import all_estimators

            return dict(all_estimators("classifier"))[name]
        except (ImportError, AttributeError, KeyError):
            raise MpuError(
                f"there is no classifier {self.estimator}: give the name of one in scikit-learn, or one that is "
                "installed with its module, such as lightgbm.LGBMClassifier"
            ) from None


def _value(text: str) -> Any:
    try:
        return literal_eval(text)
    except (ValueError, SyntaxError):
        return text


class Classifier:
    """A fitted classifier as a model of labels.

    Parameters
    ----------
    estimator : object
    shape : tuple of int
        Numbers of features and labels.
    """

    def __init__(self, estimator: Any, shape: tuple[int, int]) -> None:
        import numpy as np

        self._estimator = estimator
        self.n_features, q = shape
        self.thresholds = np.full(q, 0.5, np.float32)

    def probabilities(self, matrix: "csr_array", run: "Run | None" = None) -> "np.ndarray":
        """Return what the classifier predicts: probabilities, or the logistic function of its decisions."""
        from mpu_cli.core.data.features import with_width

        return scores(
            self._estimator, _suited(self._estimator, with_width(matrix, self.n_features)), len(self.thresholds)
        )

    def predictions(self, matrix: "csr_array", run: "Run | None" = None, most: int | None = None) -> "np.ndarray":
        """Return the same."""
        return self.probabilities(matrix)


def scores(estimator: Any, X: Any, q: int) -> "np.ndarray":
    """Score labels: probabilities, or the logistic function of decisions.

    Parameters
    ----------
    estimator : classifier
        Of q labels, 0 or 1, at once; one label has one dimension.
    X : array_like, sparse matrix or data frame, shape (n, D)
    q : int

    Returns
    -------
    ndarray of float32, shape (n, q), from 0 to 1
    """
    import numpy as np
    from scipy.special import expit

    if hasattr(estimator, "predict_proba"):
        found, classes = estimator.predict_proba(X), estimator.classes_
        if not isinstance(found, list) and q == 1:
            found, classes = [found], [classes]
        if isinstance(found, list):  # of each label, the probability of each class
            found = np.stack([of_one @ (np.asarray(own) == 1) for of_one, own in zip(found, classes, strict=True)], 1)
    else:
        found = expit(estimator.decision_function(X))
    return np.asarray(found, np.float32).reshape(-1, q)


def fit(task: Task) -> Fitted:
    """Learn the annotations.

    Raises
    ------
    MpuError
        The classifier cannot learn from these data; TooLargeError if it needs them dense, and memory is too small.
    """
    import sklearn
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.utils import get_tags

    problem = task.problem
    estimator = task.options.made(task.run.seed)
    q = problem.labels.shape[1]
    if q > 1 and not get_tags(estimator).classifier_tags.multi_label:
        estimator = OneVsRestClassifier(estimator)
    labels = problem.labels.toarray().astype(int)
    try:
        with task.run.step("train"):
            estimator.fit(_suited(estimator, problem.features), labels if q > 1 else labels[:, 0])
    except ValueError as error:
        raise MpuError(f"{task.options.estimator} cannot learn from these data: {error}") from error
    model = Classifier(estimator, (problem.features.shape[1], q))
    return Fitted.without_c(task, model, Report(sklearn.__version__))


@dataclass(frozen=True)
class Report:
    """The version of scikit-learn."""

    scikit_learn: str


def _suited(estimator: Any, matrix: "csr_array") -> "csr_array | np.ndarray":
    """Return features as they are, or dense for a classifier that takes no others."""
    from sklearn.utils import get_tags

    from mpu_cli.core.data.limits import refuse_beyond_free

    if get_tags(estimator).input_tags.sparse:
        return matrix
    n, D = matrix.shape
    refuse_beyond_free(4 * n * D, f"{n:,} instances x {D:,} features", "take a classifier that learns sparse features")
    return matrix.toarray()


_HELP = "a classifier of scikit-learn, or in its conventions, that takes missing labels for negatives."
METHODS = (Method("sklearn", _HELP, Options, fit, saved=False, parse=Options.parse),)
