"""The model in use: read once, and again after it has been replaced."""

import hashlib
import logging
import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from mpu_cli import bundle
from mpu_cli.bundle import MANIFEST, TrainedModel
from mpu_cli.bundle.loading import manifest_of, parse
from mpu_cli.bundle.predicting import Fitness, implications_of, reaching, select, with_implied
from mpu_cli.errors import DataError
from mpu_cli.runtime.files import State, state_of
from mpu_cli.runtime.run import Run
from mpu_cli.text.languages import languages_of, strangers
from mpu_cli.text.sidecars import from_one
from mpu_cli.text.stored import unpacked
from mpu_cli.text.vectorizer import Vectorizer

_log = logging.getLogger(__name__)

_States = dict[Path, State | None]  # for each file; None if it does not exist


@dataclass(frozen=True)
class Asked:
    """A request."""

    # list of str, or csr_array of float32, shape (n, any): texts, or the features of instances
    data: list[str] | csr_array
    top: int  # number of scores requested for each
    fill_implied: bool | None = None  # whether to add the implied labels of an instance; None: the service's default
    is_for_annif: bool = False


@dataclass(frozen=True)
class Loaded:
    """A model in memory."""

    run: Run
    fill_implied: bool  # whether broader labels are filled in, unless a request sets it
    model: TrainedModel
    vectorizer: Vectorizer | None  # converts texts to vectors; None if the model does not contain one
    version: str  # first 16 digits of the manifest's checksum, as in the name of its file ``training-....json``
    state: _States  # of the manifest and the files that it names

    @classmethod
    def read(cls, path: Path, run: Run, fill_implied: bool) -> "Loaded":
        """Read a model, again if it is replaced meanwhile; MpuError as for `bundle.load` and `answer`."""
        while True:
            manifest = manifest_of(path)
            model = bundle.load(path)
            if manifest is None:
                continue
            named = parse(path, manifest)
            names = [MANIFEST, *(name for name, _ in (*named.files, *named.others.values()))]
            state = {path / name: state_of(path / name) for name in names}
            if manifest == manifest_of(path):
                break
        vectorizer = (
            None if model.packed_vectorizer is None else Vectorizer.of(unpacked(model.packed_vectorizer, str(path)))
        )
        version = hashlib.sha256(manifest).hexdigest()[:16]
        loaded = cls(run, fill_implied, model, vectorizer, version, state)
        # The first prediction loads the names and compiles the kernels; no request should wait for that.
        loaded.answer(Asked(csr_array((1, 1), dtype=np.float32), 1))
        return loaded

    @cached_property
    def labels(self) -> list[str]:
        """The name of each column, or else its number."""
        return [str(label) for label in self.model.shown_labels().tolist()]

    @property
    def since(self) -> float:
        """When the manifest was written, in seconds since 1970."""
        manifest = next(iter(self.state.values()))
        return 0.0 if manifest is None else manifest[1] / 1e9

    @property
    def has_uris(self) -> bool:
        """Whether a label has a URI."""
        return self.model.names is not None and self.model.names.has_uris

    def uri(self, column: int) -> str | None:
        """Return the URI of a column; None if absent."""
        names = self.model.names
        return None if names is None else names.uri(int(self.model.label_ids[column]))

    def answer(self, asked: Asked) -> dict[str, Any]:
        """Predict; return the labels and scores of each instance by name, or the suggestions for one text for Annif.

        Raises MpuError (the model does not accept texts, or has no rules for implied labels; or features are too large
        for 32-bit numbers).
        """
        is_filled = self.fill_implied if asked.fill_implied is None else asked.fill_implied
        implies = implications_of(self.model) if is_filled else None
        features = asked.data
        if not isinstance(features, csr_array):
            if self.vectorizer is None:
                raise DataError("the model has no vectoriser; send instances")
            features = from_one(self.vectorizer.transform(features))
        fitness = Fitness.of(self.model, features)
        about: dict[str, Any] = {"version": self.version, "unknown_features": fitness.unknown}
        if warnings := self._warnings(asked.data, features):
            about["warnings"] = warnings
        thresholds = self.model.predictor.thresholds
        predictions = reaching(self.model.predictor, features, thresholds, self.run, most=asked.top)
        decided = select(predictions, thresholds, None, ranked=True)
        top = select(predictions, np.zeros(1, np.float32), asked.top, ranked=True)
        if implies is not None:
            decided, top = (with_implied(cells, implies, None, ranked=True) for cells in (decided, top))
            top = top[np.arange(len(top)) - np.searchsorted(top.rows, top.rows) < asked.top]
        scores = zip(top.rows.tolist(), top.columns.tolist(), top.probabilities.tolist(), strict=True)
        if asked.is_for_annif:  # Annif identifies labels only by URI
            scored = [(self.uri(column), self.labels[column], round(score, 6)) for _, column, score in scores]
            return about | {"results": [dict(zip(_SUGGESTION, one, strict=True)) for one in scored if one[0]]}
        found: list[dict[str, Any]] = [
            {"labels": [], **({"uris": []} if self.has_uris else {}), "scores": {}} for _ in range(features.shape[0])
        ]
        for row, column in zip(decided.rows.tolist(), decided.columns.tolist(), strict=True):
            found[row]["labels"].append(self.labels[column])
            if self.has_uris:
                found[row]["uris"].append(self.uri(column))
        for row, column, score in scores:
            found[row]["scores"][self.labels[column]] = round(score, 6)
        return about | {"features": fitness.entries, "predictions": found}

    def _warnings(self, data: list[str] | csr_array, features: csr_array) -> list[str]:
        """Return warnings for texts in languages new to the model, or without any word known to the model."""
        if self.vectorizer is None or isinstance(data, csr_array):
            return []
        foreign = strangers(languages_of(data), self.vectorizer.options_.languages, len(data))
        known = np.diff(self.model.occurring.of(features).indptr)
        wordless = [f"text {row + 1} has no word that the model knows" for row in np.flatnonzero(known == 0)]
        return [*([] if foreign is None else [foreign]), *wordless]


_SUGGESTION = "uri", "label", "score"


class Current:
    """The model in use, `loaded`; `problem`: why the model now on disk is not in use."""

    def __init__(self, path: Path, run: Run, fill_implied: bool = False) -> None:
        self.path = path
        self.loaded = Loaded.read(path, run, fill_implied)
        self.problem: str | None = None
        self._failed: _States | None = None

    def refresh(self) -> None:
        """Read the model if it has been replaced. The old one stays in use meanwhile, and if reading fails."""
        state = {file: state_of(file) for file in self.loaded.state}
        if state == self.loaded.state:
            self.problem = self._failed = None
            return
        if state == self._failed:
            return
        start = time.monotonic()
        try:
            self.loaded = Loaded.read(self.path, self.loaded.run, self.loaded.fill_implied)
        except Exception as error:  # whatever is wrong with a new model, the old one must answer
            self._failed, self.problem = state, str(error) or type(error).__name__
            _log.warning("%s; the previous model stays in use", self.problem)
            return
        self._failed = self.problem = None
        seconds = time.monotonic() - start
        _log.info("%s: version %s is in use, read in %.1f s", self.path, self.loaded.version, seconds)
