"""Predictions that are evaluated: a file of them, or a model that makes them."""

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from mpu_cli import bundle
from mpu_cli.bundle.predicting import Fitness
from mpu_cli.cli.prediction_files import in_folder
from mpu_cli.core.predictions import FEW_LABELS, all_reaching
from mpu_cli.core.thresholds import reached
from mpu_cli.errors import STANDARD_STREAM, InputError, OverflowingError
from mpu_cli.evaluation.compare import Form, iter_predictions, pairs_of_files
from mpu_cli.runtime.run import Run
from mpu_cli.svmlight.dataset import Dataset, GrowingCsr
from mpu_cli.svmlight.grammar import Reading
from mpu_cli.svmlight.reader import iter_chunks
from mpu_cli.svmlight.streams import Files, Source, as_one, files_of
from mpu_cli.text.sidecars import refuse_other_vectorizer

_log = logging.getLogger(__name__)
_PROBABILITIES = 1 << 22  # that are in memory at a time


@dataclass(frozen=True)
class Candidate:
    """Predictions of the instances of a data file."""

    name: str  # A file of predictions, a directory of them, or a model, as the user named it
    model: bundle.TrainedModel | None = None  # None: they are files
    source: str | Files = ""  # those files

    @classmethod
    def of(cls, name: str, truth: Source) -> "Candidate":
        """Take a directory for a model, unless it has predictions of the files of the truth.

        Raises ModelError, InputError (it is neither).
        """
        if not Path(name).is_dir():
            return cls(name, source=name)
        if not Path(name, bundle.MANIFEST).exists() and str(truth) != STANDARD_STREAM:
            files = in_folder(name, files_of(truth))
            if any(path.exists() and path.resolve() != Path(source).resolve() for source, path in files.items()):
                return cls(name, source=as_one(list(map(str, files.values()))))
            if isinstance(truth, Files):
                source, path = next(iter(files.items()))
                raise InputError(
                    name,
                    None,
                    f"is not a model (it has no {bundle.MANIFEST}), and has no predictions: those of {source} would be "
                    f"its file {path.name}; mpu predict writes them",
                )
        return cls(name, bundle.load(Path(name)))

    @property
    def form(self) -> Form:
        """The form of its predictions: a model gives label sets and scores; of files, that is seen as they are read."""
        is_model = self.model is not None
        return Form(self.name, labels=is_model, scores=is_model)

    def collect(
        self,
        add: Callable[[Dataset, Dataset], None],
        truth: Source,
        reading: Reading,
        run: Run,
        *,
        called: str = "PREDICTIONS",
        tick: Callable[[int], None] = lambda _: None,
    ) -> None:
        """Call a function with instances of data and their predictions, in the form of `evaluation.compare`.

        `called`: what the predictions are called in messages.
        `tick`: called with how many more instances are done with.
        """
        if self.model is None:
            for pair in pairs_of_files(truth, self.source, reading, run, called):
                add(*pair)
                tick(len(pair[0]))
            return
        fitness = collect(add, self.model, truth, reading, run, tick)
        if not fitness.entries:
            _log.warning(f"{truth}: no instance has a feature, such as 1:0.5")
        for note in fitness.notes():
            _log.info(f"{self.name}: {note}")
        for warning in fitness.warnings(self.model):
            _log.warning(f"{self.name}: {warning}")

    def of_data(self, data: Dataset, truth: Source, reading: Reading, run: Run) -> Dataset:
        """Return the predictions of data that have been read."""
        if self.model is None:
            return _joined(iter_predictions(self.source, reading, run))
        return _joined(predicted for _, predicted in _predicted(self.model, data, truth, run))


def collect(
    add: Callable[[Dataset, Dataset], None],
    model: bundle.TrainedModel,
    truth: Source,
    reading: Reading,
    run: Run,
    tick: Callable[[int], None] = lambda _: None,
) -> Fitness:
    """Call a function with instances of data, and what a model predicts of them. Return whether it fits them."""
    refuse_other_vectorizer(truth, model.packed_vectorizer)
    fitness = Fitness()
    for chunk in iter_chunks(truth, reading, run=run):
        fitness += Fitness.of(model, chunk.features, chunk.labels)
        for pair in _predicted(model, chunk, truth, run):
            add(*pair)
            tick(len(pair[0]))
    return fitness


def _joined(parts: Iterable[Dataset]) -> Dataset:
    labels, scores = GrowingCsr(bool), GrowingCsr(np.float32)
    for part in parts:
        labels.append(part.labels)
        scores.append(part.features)
    return Dataset(labels.finish(), scores.finish())


def _predicted(model: bundle.TrainedModel, data: Dataset, truth: Source, run: Run) -> Iterator[tuple[Dataset, Dataset]]:
    """Predict some instances, a few at a time: label sets by the thresholds of the model, and all scores."""
    ids, width = model.label_ids, int(model.label_ids[-1]) + 1
    rows = max(1, _PROBABILITIES // min(len(ids), FEW_LABELS))
    for start in range(0, len(data), rows):
        part = data[start : start + rows]
        try:
            predict = partial(model.predictor.predictions, part.features, run)
            predicted = all_reaching(predict, model.predictor.thresholds)
        except OverflowingError:
            raise InputError(str(truth), None, "feature values are too large; scale them as in training") from None
        n, q = predicted.shape
        chosen = reached(predicted, model.predictor.thresholds)
        if isinstance(predicted, np.ndarray):
            scores = csr_array((predicted.ravel(), np.tile(ids, n), np.arange(n + 1) * q), shape=(n, width))
        else:
            scores = csr_array((predicted.data, ids[predicted.indices], predicted.indptr), shape=(n, width))
        labels = csr_array((chosen.data, ids[chosen.indices], chosen.indptr), shape=(n, width))
        yield part, Dataset(labels, scores)
