"""sklearn: any classifier of scikit-learn, or in its conventions, to compare others with in `mpu experiment`.

It learns the annotations, as if what is not annotated were false: all labels at once where it can, else one by one.
A label is predicted where its probability is at least 0.5.

sklearn-pu: the same classifier, made one for incomplete labels, as `IncompleteLabelClassifier` does.
"""

from ast import literal_eval
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from mpu_cli.core.options import Options as PuOptions
from mpu_cli.core.options import Validation
from mpu_cli.errors import MpuError
from mpu_cli.methods.method import Fitted, Method, Task
from mpu_cli.runtime.options import AUTO, NotAllowedError, Words, option, options_of
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
        from mpu_cli.core.data.features import with_width
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


class _Name:
    """A classifier by name, with the arguments of its constructor."""

    metavar = "module:factory"
    documented = "str"

    def parse(self, text: str) -> str:
        """Return the text."""
        return self.check(text)

    def check(self, value: Any) -> str:
        """Return the text."""
        if not isinstance(value, str) or not value:
            raise NotAllowedError(value, "the name of a classifier, such as sklearn.ensemble:RandomForestClassifier")
        return value


_SHARED = options_of(PuOptions)


@dataclass(frozen=True, kw_only=True)
class IncompleteOptions(Validation):
    """A classifier, and how it is made one for incomplete labels."""

    estimator: str | None = option(
        _Name(),
        None,
        "A classifier of scikit-learn, or in its conventions, with arguments of its constructor after colons: "
        "RandomForestClassifier:n_estimators=400, lightgbm:LGBMClassifier, my_module:my_factory. Chooses --method "
        "sklearn-pu.",
    )
    unannotated: str = option(
        Words(UNANNOTATED),
        NEGATIVE,
        "What a classifier learns of a label that is not annotated. negative: that it is false. weighted: that it is "
        "true with the weight Pr(y=1 | x, s=0), and false with the rest; it must take sample_weight, and it takes "
        "several times as long. auto: the one of which the higher F1 is expected.",
    )
    c: "np.ndarray | float | None" = option(_SHARED["c"].kind, _SHARED["c"].default, _SHARED["c"].help)
    threshold: str | float = option(_SHARED["threshold"].kind, _SHARED["threshold"].default, _SHARED["threshold"].help)

    @classmethod
    def parse(cls, parts: Sequence[str]) -> "IncompleteOptions":
        """Read the name, and ``parameter=value`` of the classifier or of these options."""
        declared, own, others = options_of(cls), {}, []
        for part in parts:
            key, _, text = part.partition("=")
            if key not in declared or key == "estimator":
                others.append(part)
                continue
            try:
                own[key] = declared[key].kind.parse(text)
            except NotAllowedError as error:
                raise MpuError(f"{key} is {error}") from None
        options = cls(estimator=":".join(others), **own)
        options.made(seed=0)
        return options

    def made(self, seed: int) -> Any:
        """Return the classifier, as `Options.made` does."""
        if self.estimator is None:
            raise MpuError("sklearn-pu needs a classifier: give --estimator, such as RandomForestClassifier")
        return Options.of(self.estimator.split(":")).made(seed)


def fit_incomplete(task: Task) -> Fitted:
    """Learn incomplete annotations.

    Raises MpuError (as for `fit`).
    """
    import sklearn
    from sklearn.utils.parallel import Parallel

    from mpu_cli.core.data.limits import refuse_large_predictions
    from mpu_cli.methods.mpu import findings_of
    from mpu_cli.methods.scikit_learn.classifiers import CalibratedClassifiers, learn, suited

    problem, options, run = task.problem, task.options, task.run
    refuse_large_predictions(*problem.labels.shape)
    estimator = options.made(run.seed)
    chosen = PuOptions(c=options.c, threshold=options.threshold, folds=options.folds, sample=options.sample)
    parallel = Parallel(run.jobs, prefer="threads")
    X = suited([estimator], problem.features)
    try:
        learned = learn(estimator, X, problem, chosen, run, unannotated=options.unannotated, parallel=parallel)
    except ValueError as error:
        if isinstance(error, MpuError):
            raise
        raise MpuError(f"{options.estimator} cannot learn from these data: {error}") from error
    evidence, expected = learned.evidence, learned.decision.expected
    findings = findings_of(evidence.frequency.rates, evidence.estimates) | {
        "unannotated": WEIGHTED if learned.is_weighted else NEGATIVE,
        "expected_micro_f1": min(expected.f1, 1.0),
        "expected_micro_f1_interval": list(evidence.estimates.f1_interval(expected)),
        "scikit_learn": sklearn.__version__,
    }
    if problem.groups is not None and evidence.estimates.groups is not None:
        findings["c_by_group"] = evidence.estimates.groups.rows(problem.groups, problem.labels, problem.verified)
    return Fitted(
        CalibratedClassifiers.of(learned, problem.features.shape[1]),
        findings,
        evidence.frequency.rates,
        evidence.warnings,
        out_of_fold=evidence.probabilities if task.hold_out_all else None,
        groups=problem.groups and replace(problem.groups, rates=evidence.estimates.group_rates),
        estimates=evidence.estimates,
    )


def _refuse_unsaved(options: IncompleteOptions) -> None:
    from mpu_cli.methods.scikit_learn.classifiers import refuse_unsaved

    refuse_unsaved(options.made(seed=0))


_HELP = "a classifier of scikit-learn, or in its conventions, that takes missing labels for negatives."
_PU_HELP = "any classifier of scikit-learn, or in its conventions (--estimator), made one for incomplete labels."
METHODS = (
    Method("sklearn", _HELP, Options, fit, saved=False, parse=Options.parse),
    Method(
        "sklearn-pu",
        _PU_HELP,
        IncompleteOptions,
        fit_incomplete,
        ("reviewed", "reviewed_wins", "fully_labelled", "oof"),
        refuse_unsaved=_refuse_unsaved,
        parse=IncompleteOptions.parse,
    ),
)
