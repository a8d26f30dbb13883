"""sklearn: any classifier of scikit-learn, or in its conventions, to compare others with in `mpu experiment`.

It learns the annotations, as if what is not annotated were false: all labels at once where it can, else one by one.
A label is predicted where its probability is at least 0.5.
"""

from ast import literal_eval
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from mpu_cli.errors import MpuError
from mpu_cli.methods.method import Fitted, Method, Task
from mpu_cli.runtime.options import AUTO
from mpu_cli.runtime.steps import Step

if TYPE_CHECKING:
    import numpy as np
    from scipy.sparse import csr_array

    from mpu_cli.runtime.run import Run


# What a cell teaches whose label is not annotated.
NEGATIVE, WEIGHTED = "negative", "weighted"
UNANNOTATED = (NEGATIVE, WEIGHTED, AUTO)
# Seeds of scikit-learn are below this.
SEEDS = 1 << 32


@dataclass(frozen=True, kw_only=True)
class Options:
    """Which classifier."""

    # Name of a classifier in scikit-learn, or of any with its module
    estimator: str = "sklearn.linear_model.LogisticRegression"
    parameters: tuple[tuple[str, Any], ...] = ()  # arguments of its constructor

    @classmethod
    def parse(cls, parts: Sequence[str]) -> "Options":
        """Read the name, and ``parameter=value``; MpuError where there is no such classifier or parameter."""
        options = cls.of(parts)
        options.made(seed=0)
        return options

    @classmethod
    def of(cls, parts: Sequence[str]) -> "Options":
        """Read the same, and look for no classifier yet."""
        name = list(takewhile(lambda part: "=" not in part, parts))
        if not name:
            raise MpuError("name a classifier, such as RandomForestClassifier:n_estimators=400")
        pairs = (part.partition("=") for part in parts[len(name) :])
        return cls(estimator=".".join(name), parameters=tuple((key, _value(text)) for key, _, text in pairs))

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
        return made.set_params(random_state=seed % SEEDS) if takes_seed else made

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
    """Fitted classifiers as a model of labels.

    `learned`: one of all labels, or one of each.
    `shape`: numbers of features and labels.
    """

    def __init__(self, learned: list[Any], shape: tuple[int, int]) -> None:
        import numpy as np

        self._learned = learned
        self.n_features, q = shape
        self.thresholds = np.full(q, 0.5, np.float32)

    def probabilities(self, matrix: "csr_array", run: "Run | None" = None) -> "np.ndarray":
        """Return what the classifiers predict: probabilities, or the logistic function of their decisions."""
        from mpu_cli.core.features import with_width
        from mpu_cli.methods.scikit_learn.classifiers import scores, suited

        features = suited(self._learned, with_width(matrix, self.n_features))
        return scores(self._learned, features, len(self.thresholds))

    def predictions(self, matrix: "csr_array", run: "Run | None" = None, most: int | None = None) -> "np.ndarray":
        """Return the same."""
        return self.probabilities(matrix)


def fit(task: Task) -> Fitted:
    """Learn the annotations.

    Raises MpuError (the classifier cannot learn from these data; TooLargeError if it needs them dense, and memory is
    too small).
    """
    import sklearn

    from mpu_cli.methods.scikit_learn.classifiers import learned, suited

    problem = task.problem
    estimator = task.options.made(task.run.seed)
    try:
        with task.run.step(Step.TRAIN):
            of_labels = learned(estimator, suited([estimator], problem.features), problem.labels.toarray())
    except ValueError as error:
        raise MpuError(f"{task.options.estimator} cannot learn from these data: {error}") from error
    model = Classifier(of_labels, (problem.features.shape[1], problem.labels.shape[1]))
    return Fitted.without_c(task, model, ScikitLearnFindings(sklearn.__version__))


@dataclass(frozen=True)
class ScikitLearnFindings:
    """The version of scikit-learn."""

    scikit_learn: str


_HELP = "a classifier of scikit-learn, or in its conventions, that takes missing labels for negatives."
METHODS = (Method("sklearn", _HELP, Options, fit, parse=Options.parse),)
