"""The data of a training: a file, what people have decided about its labels, and a second file with complete labels."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, vstack

from mpu_cli.core.data.features import with_width
from mpu_cli.core.data.known_labels import KnownLabels
from mpu_cli.core.frequency.label_frequency import count_annotations
from mpu_cli.errors import InputError, counted
from mpu_cli.names import BESIDE, LabelNames, Naming
from mpu_cli.review import decisions, matching
from mpu_cli.runtime.run import Run
from mpu_cli.svmlight.cache import read
from mpu_cli.svmlight.grammar import DEFAULT_READING, Reading
from mpu_cli.svmlight.sources import Files, Source
from mpu_cli.text.sidecars import Sidecars
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


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class TrainingData:
    """What a training learns from.

    Attributes
    ----------
    features : csr_array of float32, shape (n, D)
    labels : csr_array of bool, shape (n, q)
        Annotated labels.
    ids : ndarray of int, shape (q,)
        The label, as written in files, of each column; ascending.
    known : KnownLabels or None
    sampled : ndarray of int or None
        The instances that were drawn at random and completely reviewed.
    second : ndarray of int or None
        The instances of the second file.
    review : ReviewCounts or None
    names : LabelNames or None
        The names of labels, where they are known; also of labels that do not occur.
    label_features : csr_array of float32, shape (q, any), or None
        Features of labels, where there are some.
    """

    features: csr_array
    labels: csr_array
    ids: np.ndarray
    known: KnownLabels | None = None
    sampled: np.ndarray | None = None
    second: np.ndarray | None = None
    review: ReviewCounts | None = None
    names: LabelNames | None = None
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

    @property
    def never_annotated(self) -> np.ndarray:
        """The labels that are never annotated, ascending."""
        return self.ids[count_annotations(self.labels) == 0]

    def frequencies_of(self, file: Path) -> np.ndarray:
        """Read the label frequency of each label from a file, as `read_frequencies` does.

        Labels that are never annotated may be absent from it.
        """
        return read_frequencies(file, self.ids, self.names, may_be_absent=self.never_annotated)

    def model_names(self) -> LabelNames | None:
        """Return the names of these labels alone, as a model keeps them."""
        return None if self.names is None else self.names.only(self.ids.tolist())

    def widened(self, every: np.ndarray) -> "TrainingData":
        """Return the same data with more labels, which are never annotated: these are all, ascending."""
        known = self.known and KnownLabels(_widened(self.known.cells, self.ids, every), self.known.instances)
        return replace(self, labels=_widened(self.labels, self.ids, every), ids=every, known=known)

    def known_of(self, options: Any) -> Any:
        """Return options of a training with what is known of these labels."""
        names = {f.name for f in fields(options)}
        given = {name: getattr(self, name) for name in ("known", "sampled", "second", "label_features")}
        return replace(options, **{name: value for name, value in given.items() if name in names})


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
    sidecars = sidecars or Sidecars(sources.file)
    file = read(sources.file, sources.reading, run, sources.cache, sidecars.contents)
    labels, ids = file.occurring_labels()
    names = sidecars.names_of(sources.naming, ids)
    if sources.reviewed:
        decided = decisions.read(sources.reviewed, names)
        named = [] if names is None else [number for number, texts in names.by_number.items() if texts]
        found = matching.match(decided, file, sources.file, wins=sources.reviewed_wins, also=named)
        counts = ReviewCounts(
            found.decisions,
            found.found,
            found.refuted,
            found.unused,
            found.new_labels.tolist(),
            int(np.count_nonzero(found.known.instances)),
            len(found.sampled),
        )
        data = TrainingData(file.features, found.labels, found.ids, found.known, _some(found.sampled), None, counts)
    else:
        data = TrainingData(file.features, labels, ids)
    if sources.complete is not None:
        data = _with_complete(data, *_occurring(str(sources.complete), sources, run))
    if not len(data.ids):
        raise InputError(str(sources.file), None, "no instance has a label, so there is nothing to learn")
    return replace(data, names=names)


def _some(rows: np.ndarray) -> np.ndarray | None:
    return rows if len(rows) else None


def _occurring(path: str, sources: Sources, run: Run) -> tuple[csr_array, csr_array, np.ndarray]:
    more = read(path, sources.reading, run, sources.cache)
    return more.features, *more.occurring_labels()


def _with_complete(data: TrainingData, features: csr_array, labels: csr_array, ids: np.ndarray) -> TrainingData:
    """Append instances whose label sets are complete."""
    n, m = len(data), features.shape[0]
    width = max(data.features.shape[1], features.shape[1])
    every = np.union1d(data.ids, ids)
    data = data.widened(every)
    both = data.labels, _widened(labels, ids, every)
    known = data.known or KnownLabels.of((n, len(every)))
    cells = vstack([known.cells, csr_array((m, len(every)), dtype=np.int8)], format="csr")
    whole = KnownLabels.of((m, 0), complete=np.arange(m)).instances
    return replace(
        data,
        features=csr_array(vstack([with_width(data.features, width), with_width(features, width)], format="csr")),
        labels=csr_array(vstack(both, format="csr")),
        known=KnownLabels(csr_array(cells), np.concatenate([known.instances, whole])),
        second=np.arange(n, n + m),
    )


def _widened(matrix: csr_array, ids: np.ndarray, every: np.ndarray) -> csr_array:
    """Give the columns of some labels their place among all."""
    columns = np.searchsorted(every, ids).astype(matrix.indices.dtype)
    return csr_array((matrix.data, columns[matrix.indices], matrix.indptr), shape=(matrix.shape[0], len(every)))
