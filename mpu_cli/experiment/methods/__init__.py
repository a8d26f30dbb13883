"""The methods that are compared (Kong et al. 2014, Section 3.3), each a module here with a class `Method`.

Adding one adds one file. An external method is the class `Method` in a file, ``my_method.py``, or a class specified by
its module, ``module:Class``, also in the current directory; a scikit-learn classifier is a method that learns each
label.
"""

import inspect
import sys
import time
from ast import literal_eval
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from itertools import takewhile
from pathlib import Path
from traceback import extract_tb
from typing import Any, NamedTuple

import joblib
import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.base import is_classifier
from sklearn.utils import get_tags

from mpu_cli.api.any_classifier import fit_copies, scale_of, scores, values
from mpu_cli.core.calibration import HeldOut
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.options import LINEAR, FrequencyOptions
from mpu_cli.core.predictions import refuse_beyond_free
from mpu_cli.core.problem import Problem, kin_of
from mpu_cli.core.thresholds import pooled_threshold
from mpu_cli.core.validation import deal, without
from mpu_cli.errors import InputError, MpuError, one_line
from mpu_cli.experiment import method_names
from mpu_cli.people.posteriors import Scored
from mpu_cli.runtime.run import Run
from mpu_cli.svmlight.reader import Dataset


def make(label: str, run: Run) -> Any:
    """Return a method from its name and options, ``name:option=value:option=value``.

    docs/contributing.md, "Add a method", describes methods. With the option ``tuned=True``, any method gets the
    threshold from `Tuned`.
    Raises MpuError (there is no such method, or it does not take these options).
    """
    name, words = parts_of(label)
    made, options = _class(name), {}
    for word in words:
        key, _, text = word.partition("=")
        if (option := key.replace("-", "_")) in options:
            raise MpuError(f"{label}: the option {key} is given twice; give it once")
        options[option] = _value(text)
    if (tuned := options.pop("tuned", False)) not in (True, False):
        raise MpuError(f"{label}: tuned is {tuned!r}: give True or False")
    if tuned:
        return Tuned(":".join([name, *(word for word in words if not word.startswith("tuned="))]), run)
    try:
        takes_run = "run" in inspect.signature(made).parameters
        method = made(**options, run=run) if takes_run else made(**options)
    except (Exception, SystemExit) as error:  # an MpuError, or any error from external classes
        raise MpuError(f"{label}: {one_line(str(error))}") from error
    if hasattr(method, "__sklearn_tags__"):
        return Classifiers(method, label, run)
    if lacking := [needed for needed in ("fit(X, S)", "predict(X)") if not hasattr(method, needed.partition("(")[0])]:
        raise MpuError(f"{label}: {type(method).__name__} has no {' and no '.join(lacking)}")
    return method


def parts_of(label: str) -> tuple[str, list[str]]:
    """Return the name in a method's label, and its options, such as ``cost=3``."""
    words = label.split(":")
    name = list(takewhile(lambda word: "=" not in word, words))
    return ":".join(name), words[len(name) :]


def code_of(label: str) -> str | None:
    """Return the checksum of the file that defines a method; None for one of `mpu`, or without a file."""
    path: str | None = (name := label.partition(":")[0])
    if name in method_names():
        return None
    if not name.endswith(".py"):
        path = getattr(inspect.getmodule(_class(parts_of(label)[0])) or sys.modules[name], "__file__", None)
    return path and str(joblib.hash(Path(path).read_bytes()))


def _class(of_name: str) -> Any:
    name, _, attribute = of_name.partition(":")
    try:
        if name in method_names():
            module = import_module(f"{__name__}.{name.replace('-', '_')}")
        elif name.endswith(".py"):
            spec = spec_from_file_location(Path(name).stem, name)
            assert spec is not None and spec.loader is not None  # for a name that ends in .py
            module = module_from_spec(spec)
            spec.loader.exec_module(module)
        elif attribute:
            if str(Path.cwd()) not in sys.path:
                sys.path.append(str(Path.cwd()))
            module = import_module(name)
        else:
            raise AttributeError
        return getattr(module, attribute or "Method")
    except (Exception, SystemExit) as error:
        lines = [frame.lineno for frame in extract_tb(error.__traceback__) if frame.name == "<module>"]
        if isinstance(error, SyntaxError):
            lines.append(error.lineno)
        if lines:
            raise InputError(name, f"{type(error).__name__}: {one_line(str(error))}", lines[0]) from None
        why = f" ({one_line(str(error))})" if str(error) else ""
        raise MpuError(
            f"{of_name!r} is not a method{why}: "
            f"give {', '.join(method_names())}, a file.py with a class Method, or module:Class"
        ) from None


def _value(text: str) -> Any:
    try:
        return literal_eval({"true": "True", "false": "False"}.get(text, text))
    except (ValueError, SyntaxError):
        return text


class Predictions(NamedTuple):
    """Scores of a method and its thresholds, with its label frequency and times."""

    scores: np.ndarray  # float32, shape (n, q): 0 for a label without annotation in training
    thresholds: np.ndarray  # float32, shape (q,); infinite for a label without annotation in training
    c: float  # mean label frequency of the method
    fit_seconds: float
    predict_seconds: float


def fit_and_predict(label: str, training: Dataset, instances: Dataset, run: Run) -> Predictions:
    """Learn from training instances and predict others, only from their features.

    Raises MpuError (no label is left in training, or the method cannot learn from the data).
    """
    S, annotated = training.occurring_labels()
    if not len(annotated):
        raise MpuError("no label is left in the training part")
    method = make(label, run)
    start = time.perf_counter()
    method.fit(training.features, S, *([instances.features] if getattr(method, "transductive", False) else []))
    fitted = time.perf_counter()
    predicted = method.predict(instances.features)
    end = time.perf_counter()
    q, shape = training.labels.shape[1], (len(instances), len(annotated))
    if np.shape(predicted) != shape:
        raise MpuError(f"predict returned shape {np.shape(predicted)}; give scores of shape {shape}")
    scores, thresholds = np.zeros((len(instances), q), np.float32), np.full(q, np.inf, np.float32)
    scores[:, annotated] = predicted.toarray() if issparse(predicted) else predicted
    if missing := np.count_nonzero(np.isnan(scores)):
        raise MpuError(f"predict returned NaN for {missing:,} of {scores[:, annotated].size:,} scores; give numbers")
    threshold, c = getattr(method, "threshold", 0.5), getattr(method, "c", 1.0)
    for name, value in {"threshold": threshold, "c": c}.items():
        if np.shape(value) not in ((), shape[1:]) or np.isnan(value).any():
            raise MpuError(f"{name} is {one_line(str(value))}; give one number, or one for each of {shape[1]} labels")
    thresholds[annotated] = threshold
    return Predictions(scores, thresholds, float(np.mean(c)), fitted - start, end - fitted)


class Tuned:
    """A method, by its label, with a common threshold criterion, to compare methods apart from their own rules.

    A fifth of the training instances is held out and predicted by a model of the others. The threshold, one for all
    labels, maximises the micro-F1 that is estimated for complete labels from the incomplete ones
    (`mpu_cli.core.thresholds`). The label frequency c for this estimate is estimated from all training instances as in
    `mpu train`, regardless of the method. The threshold is then used for the model of all training instances.
    """

    def __init__(self, label: str, run: Run) -> None:
        self.label, self.run, self.method = label, run, make(label, run)
        self.transductive = getattr(self.method, "transductive", False)

    def fit(self, X: csr_array, S: csr_array, *unlabelled: csr_array) -> None:
        """Learn; MpuError as from `fit_and_predict`."""
        self.c = Scored(Problem(X, S), FrequencyOptions(features=LINEAR), self.run).estimates().overall.c
        held_out = deal(len(training := Dataset(S, X)), 5, self.run.seed, kin_of(X))[0]
        rest = without(held_out, len(training))
        predictions = fit_and_predict(self.label, training[rest], training[held_out], self.run)
        annotated = S[held_out]
        frequency = LabelFrequency.of(self.c, annotated.shape)
        self.threshold, _ = pooled_threshold(HeldOut(predictions.scores, annotated, frequency))
        self.method.fit(X, S, *unlabelled)

    def predict(self, X: csr_array) -> Any:
        """Return the scores of the method."""
        return self.method.predict(X)


class Classifiers:
    """Any scikit-learn classifier as a method. It treats missing labels as negatives.

    It learns all labels at once if it can, otherwise one by one. A label is predicted from a probability of 0.5.
    """

    def __init__(self, classifier: Any, label: str, run: Run) -> None:
        """Set the seed of the run, if the classifier takes a seed and has no other."""
        if not is_classifier(classifier):
            raise MpuError(f"{label} is not a scikit-learn classifier")
        self.classifier = classifier
        if classifier.get_params().get("random_state", run) is None:
            classifier.set_params(random_state=run.seed % (1 << 32))  # scikit-learn's seeds are below this

    def fit(self, X: csr_array, S: csr_array) -> None:
        """Learn; TooLargeError if it needs dense features, and memory is too small."""
        self.fitted = fit_copies(self.classifier, _suited([self.classifier], X), S.toarray())
        self.q = S.shape[1]

    def predict(self, X: csr_array) -> np.ndarray:
        """Return probabilities, or the logistic function of decision values, divided by a number if some are large."""
        found = values(self.fitted, _suited(self.fitted, X), self.q)
        return scores(found, scale_of([found]))


def _suited(classifiers: list[Any], matrix: csr_array) -> csr_array | np.ndarray:
    """Return features unchanged, or dense if a classifier needs that; TooLargeError if they exceed the memory."""
    if all(get_tags(classifier).input_tags.sparse for classifier in classifiers):
        return matrix
    n, D = matrix.shape
    refuse_beyond_free(4 * n * D, f"{n:,} instances x {D:,} features", "use a classifier that accepts sparse features")
    return matrix.toarray()
