"""A training set: a file, what people have decided about its labels, and a second file with complete labels."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, vstack

from mpu_cli import methods
from mpu_cli.core.data.answers import Answers
from mpu_cli.core.data.features import Columns, with_width
from mpu_cli.core.data.problem import Problem
from mpu_cli.core.data.verified_labels import VerifiedLabels
from mpu_cli.core.frequency.label_frequency import count_annotations
from mpu_cli.core.select.warm_start import WarmStart
from mpu_cli.errors import InputError, MpuError, counted
from mpu_cli.methods import Fitted
from mpu_cli.names import BESIDE, LabelNames, Naming
from mpu_cli.review import decisions, matching
from mpu_cli.review.numbering import checksum
from mpu_cli.runtime.run import Run
from mpu_cli.svmlight.cache import read
from mpu_cli.svmlight.content import Content
from mpu_cli.svmlight.dataset import Dataset
from mpu_cli.svmlight.grammar import DEFAULT_READING, Reading
from mpu_cli.svmlight.sources import Files, Source
from mpu_cli.text.sidecars import Sidecars
from mpu_cli.text.stored import Stored
from mpu_cli.training import provenance
from mpu_cli.training.frequencies import read_frequencies


@dataclass(frozen=True)
class Sources:
    """Files that a training learns from.

    Attributes
    ----------
    file : str, Path or Files
        Annotated instances; of several files, numbered through all of them.
    reviewed : sequence of str or Path
        Review files: what people have decided about the labels of `file`.
    reviewed_wins : bool
        Whether ``no`` in a review outweighs an annotation. Otherwise it is an error.
    complete : str, Path or None
        More instances, whose label sets are complete.
    cache : Path or None
        Directory in which the parsed data are kept.
    naming : Naming
        Where the names of labels are.
    reading : Reading
    label_features : str, Path or None
        A file with features of labels, one line ``number index:value ...`` per label.
    """

    file: Source
    reviewed: Sequence[str | Path] = ()
    reviewed_wins: bool = False
    complete: str | Path | None = None
    cache: Path | None = None
    naming: Naming = BESIDE
    reading: Reading = DEFAULT_READING
    label_features: str | Path | None = None

    def by_option(self) -> dict[str, Any]:
        """Return the files by the options that name them, as `runtime.files.refuse_overlaps` takes them."""
        files = {f"FILE {path}": path for path in self.file} if isinstance(self.file, Files) else {"FILE": self.file}
        return {**files, **self.others()}

    def others(self) -> dict[str, Any]:
        """Return those that are not the data."""
        reviews = {f"--reviewed {path}": path for path in self.reviewed}
        of_labels = {"--labels": self.naming.file, "--label-features": self.label_features}
        return {**reviews, "--complete": self.complete, **of_labels}


@dataclass(frozen=True, kw_only=True)
class ReviewCounts:
    """What was found in review files.

    Attributes
    ----------
    decisions : int
        How many there are, one for each cell.
    found : int
        Labels that are true and were not annotated.
    refuted : int
        Annotated labels that are false.
    unused : int
        Decisions on labels that are true nowhere.
    new_labels : list of int
        Labels that were found, and are annotated nowhere.
    closed : int
        Instances whose label set is complete.
    sampled : int
        Those of them that were drawn at random.
    """

    decisions: int
    found: int
    refuted: int
    unused: int
    new_labels: list[int]
    closed: int
    sampled: int

    @classmethod
    def of(cls, found: matching.Reviewed) -> "ReviewCounts":
        """Count what was found."""
        return cls(
            decisions=found.decisions,
            found=found.found,
            refuted=found.refuted,
            unused=found.unused,
            new_labels=found.new_labels.tolist(),
            closed=int(np.count_nonzero(found.verified.instances)),
            sampled=len(found.sampled),
        )

    def cautions(self) -> list[str]:
        """Say what may be a mistake in a review."""
        found = []
        if self.new_labels:
            some = ", ".join(map(str, self.new_labels[:5])) + ", ..." * (len(self.new_labels) > 5)
            found.append(f"the review has {counted(len(self.new_labels), 'new label')}, annotated nowhere: {some}")
        if self.unused:
            found.append(
                f"{counted(self.unused, 'decision')} 'no' on a label that is true nowhere; are these numbers right?"
            )
        return found


@dataclass(frozen=True, kw_only=True)
class TrainingSet(ABC):
    """Annotated instances that a model is learned from: in this process, or on the workers of a cluster.

    Attributes
    ----------
    ids : ndarray of int, shape (q,)
        The label, as written in files, of each column; ascending.
    names : LabelNames or None
        The names of labels, where there are some; also of labels that do not occur.
    vectorizer : Stored or None
        That which made the data of texts.
    source : provenance.Source or None
        The data file; None: they come from arrays.
    review : ReviewCounts or None
    file_content : tuple or None
        Bytes that were read of the file, and their checksum, where somebody has asked for it.
    """

    ids: np.ndarray
    names: LabelNames | None = None
    vectorizer: Stored | None = None
    source: provenance.Source | None = None
    review: ReviewCounts | None = None
    file_content: Content | None = None

    @abstractmethod
    def __len__(self) -> int: ...

    @property
    def of_file(self) -> int:
        """How many instances are those of the file, and not of the second one."""
        return len(self)

    @property
    @abstractmethod
    def annotations(self) -> np.ndarray:
        """How many instances are annotated with each label: ndarray of int, shape (q,)."""

    @property
    def annotations_of_file(self) -> np.ndarray:
        """How many of those are of the file, and not of the second one."""
        return self.annotations

    @property
    def never_annotated(self) -> np.ndarray:
        """The labels that are never annotated, ascending."""
        return self.ids[self.annotations == 0]

    @property
    @abstractmethod
    def content(self) -> Any:
        """What is the same only for the same data, for `runtime.checkpoint_files.fingerprint`."""

    @abstractmethod
    def problem_and_checksum(self, run: Run, with_checksum: bool) -> tuple[Problem, str]:
        """Return the labels and what else is known, perhaps without features; and the checksum of these, or ""."""

    @abstractmethod
    def drawn(self, size: int, run: Run) -> "TrainingData":
        """Return instances among which those are that `core.select.sample.draw` draws."""

    @abstractmethod
    def fit(
        self, method: str, options: Any, run: Run, start: WarmStart | None = None, hold_out_all: bool = False
    ) -> Fitted:
        """Learn a model, as `methods.fit` does; its warnings include those about the data."""

    @abstractmethod
    def features_of(self, fitted: Fitted) -> Columns:
        """Return the features that a model learned from these data has weights for."""

    @abstractmethod
    def counts(self, fitted: Fitted) -> provenance.Counts:
        """Count the data, for the record of a training."""

    def described(self) -> dict[str, Any]:
        """Return names, sizes and checksums of the data, as `provenance.Source.described` has them."""
        return {} if self.source is None else self.source.described()

    def work(self, options: Any, fitted: Fitted) -> dict[str, int | None] | None:
        """Return how a cluster carried out a training; None where there was none."""
        return None

    def completed(self, options: Any) -> Any:
        """Return options with what the data have for them: label frequencies of a file.

        Raises
        ------
        InputError
            The file of label frequencies cannot be read, or has none of one of the labels.
        MpuError
            The options weigh features of labels, and there are none.
        """
        file = frequency_file(options)
        return options if file is None else replace(options, c=self.frequencies_of(file))

    def frequencies_of(self, file: Path) -> np.ndarray:
        """Read the label frequency of each label; those that are never annotated may be absent from the file."""
        return read_frequencies(file, self.ids, self.names, may_be_absent=self.never_annotated)


def frequency_file(options: Any) -> Path | None:
    """Return the file of label frequencies that options name."""
    c = getattr(options, "c", None)
    return c if isinstance(c, Path) else None


@dataclass(frozen=True, kw_only=True)
class TrainingData(TrainingSet):
    """A training set in this process.

    Attributes
    ----------
    features : csr_array of float32, shape (n, D)
    labels : csr_array of bool, shape (n, q)
        Annotated labels.
    verified : VerifiedLabels or None
    sampled : ndarray of int or None
        The instances that were drawn at random and completely reviewed.
    second : ndarray of int or None
        The instances of the second file.
    answers : Answers or None
        Those to questions.
    label_features : csr_array of float32, shape (q, any), or None
        Features of labels, where there are some.
    """

    features: csr_array
    labels: csr_array
    verified: VerifiedLabels | None = None
    sampled: np.ndarray | None = None
    second: np.ndarray | None = None
    answers: Answers | None = None
    label_features: csr_array | None = None

    def __len__(self) -> int:
        return self.features.shape[0]

    @property
    def of_file(self) -> int:
        """How many instances are those of the file, and not of the second one."""
        return len(self) if self.second is None else int(self.second[0])

    @property
    def has_complete_sets(self) -> bool:
        """Whether c can come from complete label sets."""
        return self.sampled is not None or self.second is not None

    @cached_property
    def annotations(self) -> np.ndarray:
        """How many instances are annotated with each label."""
        return count_annotations(self.labels)

    @property
    def annotations_of_file(self) -> np.ndarray:
        """How many of those are of the file, and not of the second one."""
        return self.annotations if self.second is None else count_annotations(self.labels[: self.of_file])

    @property
    def content(self) -> Problem:
        """Features, annotated labels and verified labels."""
        return self.problem

    def problem_and_checksum(self, run: Run, with_checksum: bool) -> tuple[Problem, str]:
        """Return what methods learn from, and the checksum of the features of the file, or ""."""
        return self.problem, checksum(self.features[: self.of_file]) if with_checksum else ""

    def drawn(self, size: int, run: Run) -> "TrainingData":
        """Return all instances: they need not be fetched."""
        return self

    def fit(
        self, method: str, options: Any, run: Run, start: WarmStart | None = None, hold_out_all: bool = False
    ) -> Fitted:
        """Learn a model in this process; what may be a mistake in a review is among its warnings."""
        fitted = methods.fit(method, self.problem, options, run, start=start, hold_out_all=hold_out_all)
        cautions = [] if self.review is None else self.review.cautions()
        return replace(fitted, warnings=(*cautions, *fitted.warnings))

    def features_of(self, fitted: Fitted) -> Columns:
        """Return the features that occur in the data, or in features of labels that the model uses."""
        columns = getattr(fitted.model, "columns", None)
        if columns is not None:  # it has weights of no others, and of all of them
            return columns
        used = self.label_features if fitted.findings.get("prior") else None
        parts = [self.features] if used is None else [self.features, used]
        return Columns.occurring(*(with_width(part, fitted.model.n_features) for part in parts))

    def counts(self, fitted: Fitted) -> provenance.Counts:
        """Count annotated labels, and true ones by the label frequency and verified labels."""
        return provenance.Counts.of(self.labels, self.verified, fitted.c)

    def completed(self, options: Any) -> Any:
        """Return options with what the data have for them: label frequencies of a file."""
        options = super().completed(options)
        prior = getattr(options, "prior", None)
        if self.label_features is None and isinstance(prior, float | int) and prior:
            raise MpuError(
                f"--prior {prior:g} is the weight of the features of labels, and there are none: give "
                "--label-features, or data that mpu vectorize made, with names of labels"
            )
        return options

    @property
    def problem(self) -> Problem:
        """Return what methods learn from."""
        names = ("verified", "sampled", "second", "answers", "label_features")
        given = {name: getattr(self, name) for name in names}
        return Problem(self.features, self.labels, **given)

    def widened(self, every: np.ndarray) -> "TrainingData":
        """Return the same data with more labels, which are never annotated: these are all, ascending."""
        verified = self.verified and VerifiedLabels(
            _widened(self.verified.cells, self.ids, every), self.verified.instances
        )
        answers = self.answers and replace(self.answers, columns=np.searchsorted(every, self.ids)[self.answers.columns])
        labels = _widened(self.labels, self.ids, every)
        return replace(self, labels=labels, ids=every, verified=verified, answers=answers)


def read_training_data(sources: Sources, run: Run, sidecars: Sidecars | None = None) -> TrainingData:
    """Read files and bring them together.

    Parameters
    ----------
    sources : Sources
    run : Run
    sidecars : Sidecars, optional
        Of the file, for those who take more from the directory beside it than names.

    Raises
    ------
    InputError
        A file cannot be read, no instance has a label, or a review or the names beside the data do not fit them.
    """
    source, sidecars = provenance.Source.of(sources.file), sidecars or Sidecars(sources.file)
    file = read(sources.file, sources.reading, run, sources.cache, sidecars.contents)
    labels, ids = file.occurring_labels()
    names = sidecars.names_of(sources.naming, ids)
    data = TrainingData(features=file.features, labels=labels, ids=ids, names=names, source=source)
    if sources.reviewed:
        decided = decisions.read(sources.reviewed, names)
        named = [] if names is None else [number for number, texts in names.by_number.items() if texts]
        found = matching.match(decided, file, sources.file, wins=sources.reviewed_wins, also=named)
        sampled = found.sampled if len(found.sampled) else None
        review = ReviewCounts.of(found)
        answers = found.answers if len(found.answers) else None
        data = replace(data, labels=found.labels, ids=found.ids, verified=found.verified, sampled=sampled)
        data = replace(data, answers=answers, review=review)
    if sources.complete is not None:
        data = _with_complete(data, read(str(sources.complete), sources.reading, run, sources.cache))
    if not len(data.ids):
        raise InputError(str(sources.file), None, "no instance has a label, so there is nothing to learn")
    return data


def _with_complete(data: TrainingData, more: Dataset) -> TrainingData:
    """Append instances whose label sets are complete."""
    features, (labels, ids) = more.features, more.occurring_labels()
    n, m = len(data), features.shape[0]
    width = max(data.features.shape[1], features.shape[1])
    every = np.union1d(data.ids, ids)
    data = data.widened(every)
    both = data.labels, _widened(labels, ids, every)
    verified = data.verified or VerifiedLabels.of((n, len(every)))
    cells = vstack([verified.cells, csr_array((m, len(every)), dtype=np.int8)], format="csr")
    whole = VerifiedLabels.of((m, 0), complete=np.arange(m)).instances
    return replace(
        data,
        features=csr_array(vstack([with_width(data.features, width), with_width(features, width)], format="csr")),
        labels=csr_array(vstack(both, format="csr")),
        verified=VerifiedLabels(csr_array(cells), np.concatenate([verified.instances, whole])),
        second=np.arange(n, n + m),
    )


def _widened(matrix: csr_array, ids: np.ndarray, every: np.ndarray) -> csr_array:
    """Give the columns of some labels their place among all."""
    columns = np.searchsorted(every, ids).astype(matrix.indices.dtype)
    return csr_array((matrix.data, columns[matrix.indices], matrix.indptr), shape=(matrix.shape[0], len(every)))
