"""Records written as instances, batch by batch."""

import hashlib
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.names.beside import GROUPS, IDS
from mpu_cli.names.lines import as_a_file
from mpu_cli.svmlight.dataset import Dataset
from mpu_cli.svmlight.sources import Counted
from mpu_cli.svmlight.streams import Writable
from mpu_cli.svmlight.writer import write_instances
from mpu_cli.text.batches import batches
from mpu_cli.text.directory import Vectorization, from_one
from mpu_cli.text.languages import languages_of
from mpu_cli.text.records import Record
from mpu_cli.text.stored import Content

_LINES_KEPT = 3


class VectorWriter:
    """Writes records as lines of a data file, and their ids and groups to files of a directory.

    Parameters
    ----------
    out : binary file
    directory : Path or None
        Where these files are made, if the records have ids or groups; None: they are not kept.
    vectorization : Vectorization
        The vectoriser, and the labels. Tags that are not among them are added.
    n_numbered : int
        Number of labels that had a number before the records were read.

    Attributes
    ----------
    instances, annotations : int
        Instances written, and labels of all of them.
    empty, unknown : int
        Texts that are empty, and others without a feature.
    languages : Counter of str
        How many texts are in each language.
    mended : int
        Records in which a tab or line end of a tag, id or group was made a blank.
    added : dict of int to int
        The first few labels without a number before, each with the line of a record that has it.
    """

    def __init__(self, out: Writable, directory: Path | None, vectorization: Vectorization, n_numbered: int) -> None:
        self._counted = Counted(out)
        self._directory = directory
        self._vectorization = vectorization
        self._n_numbered = n_numbered
        self._id_hashes = array("Q")
        self._id_lines = array("Q")
        self.instances = self.annotations = self.empty = self.unknown = self.mended = 0
        self.languages: Counter[str] = Counter()
        self.added: dict[int, int] = {}

    def write(self, records: Iterable[Record]) -> Iterator[int]:
        """Write records. Yield the number of instances after each batch."""
        for batch in batches(records, Record.size):
            vectors = self._vectorization.vectorizer.transform([record.text for record in batch])
            self.languages += languages_of(record.text for record in batch)
            labels = self._labels(batch)
            write_instances(self._counted, Dataset(labels, from_one(vectors)))
            self._hash_ids(batch)
            self._write_names(IDS, [record.id for record in batch])
            self._write_names(GROUPS, [record.group for record in batch])
            empty = sum(not record.text.strip() for record in batch)
            self.empty += empty
            self.unknown += int(np.count_nonzero(np.diff(vectors.indptr) == 0)) - empty
            self.mended += sum(record.mended for record in batch)
            self.annotations += labels.nnz
            self.instances += len(batch)
            yield self.instances

    def content(self) -> Content:
        """Return what was written."""
        return Content(self.instances, len(self._vectorization.labels), *self._counted.content())

    def repeated_ids(self) -> tuple[int, tuple[int, int] | None]:
        """Return how many records have the id of one before them, and the lines of the first such pair."""
        hashes = np.frombuffer(self._id_hashes, np.uint64) if self._id_hashes else np.zeros(0, np.uint64)
        order = np.argsort(hashes, kind="stable")
        again = np.flatnonzero(hashes[order][1:] == hashes[order][:-1])
        if not len(again):
            return 0, None
        first = again[np.argmin(order[again + 1])]
        return len(again), (self._id_lines[order[first]], self._id_lines[order[first + 1]])

    def _labels(self, batch: list[Record]) -> csr_array:
        numbers: list[int] = []
        ends = [0]
        for record in batch:
            numbers += sorted({self._number(tag, record.line) for tag in record.tags})
            ends.append(len(numbers))
        shape = (len(batch), len(self._vectorization.labels) + 1)
        return csr_array((np.ones(len(numbers), bool), numbers, ends), shape=shape)

    def _number(self, tag: str, line: int) -> int:
        labels = self._vectorization.labels
        number = labels.number(tag) or labels.add(tag)
        if number > self._n_numbered and len(self.added) < _LINES_KEPT:
            self.added.setdefault(number, line)
        return number

    def _hash_ids(self, batch: list[Record]) -> None:
        for record in batch:
            if record.id is not None:
                digest = hashlib.blake2b(record.id.encode(), digest_size=8).digest()
                self._id_hashes.append(int.from_bytes(digest))
                self._id_lines.append(record.line)

    def _write_names(self, name: str, of_records: list[str | None]) -> None:
        lines = "".join(f"{one}\n" for one in of_records if one is not None)
        if self._directory is not None and lines:
            with (self._directory / name).open("a", encoding="utf-8", newline="\n") as file:
                file.write(lines if self.instances else as_a_file(lines))
