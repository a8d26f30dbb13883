"""Sidecar files of data: the directory that `mpu vectorize` writes, ``news.text`` beside ``news.svm``.

It contains
- ``manifest.json``, ``features`` and ``idf.bin``: the vectoriser (`stored`), and the path of the records; line j of
  ``features`` names feature j; if features are hashed, ``hashes.bin`` replaces it;
- ``labels``: line k has the names of label k, separated by tabs, or is empty if label k does not exist;
- ``broader``: lines with the numbers of a label and of a broader one, if a thesaurus contains them;
- ``deprecated``: the numbers of labels that occur in records but are deprecated in the thesaurus;
- ``ids``: the id of each instance, one per line; absent if the records have no ids;
- ``groups``: the name of each instance's group, one per line, if a field contains it;
- ``label-features.svm``: the vectors of the label names, ``number index:value ...``, each of unit length.

They are used only if the data have the checksum of the data that the directory was made with (`Sidecars`).
"""

import logging
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.errors import InputError, shown
from mpu_cli.names.label_names import LabelNames, RecordIds
from mpu_cli.names.naming import (
    FOLDER,
    IDS,
    LABELS,
    Naming,
    beside,
    read_ids,
    there,
)
from mpu_cli.svmlight.streams import BLOCK_BYTES, Content, Contents, Counted, Files, Source, files_of, open_input
from mpu_cli.text import stored
from mpu_cli.text.stored import packed


def made_with(data: str | Path) -> stored.Content | None:
    """Return size and checksum of the data file that a directory was made with; None if it is missing or damaged."""
    if (manifest := there(data, FOLDER, stored.MANIFEST)) is None:
        return None
    try:
        return stored.content_of(stored.read_manifest(manifest.parent))
    except (InputError, OSError, KeyError, TypeError, ValueError):  # reading the vectoriser raises the error
        return None


def from_one(vectors: csr_array) -> csr_array:
    """Return the vectors of a data file: column j becomes feature j + 1."""
    shape = (vectors.shape[0], vectors.shape[1] + 1)
    return csr_array((vectors.data, vectors.indices + 1, vectors.indptr), shape=shape)


_log = logging.getLogger(__name__)
_UNKNOWN = "the model will not be able to read texts or to use the words of label names"


class Sidecars:
    """The sidecar files of one or several data files.

    `contents`: its keys are the files with such a directory. The reader fills in their contents as it reads.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        contents = {file: made_with(file) for file in files_of(source)}
        self._expected = {file: (made.bytes, made.sha256) for file, made in contents.items() if made is not None}
        self.contents: Contents = dict.fromkeys(self._expected)

    def stranger(self) -> str | None:
        """Return the first file whose directory belongs to other data; None if all directories match."""
        return next((file for file, expected in self._expected.items() if self._content(file) != expected), None)

    def refuse_other_vectorizer(self, packed_vectorizer: bytes | None) -> None:
        """Raise InputError if the data come from a vectoriser whose number of features or idf differ from a model's."""
        for file, made in self._expected.items() if packed_vectorizer is not None else ():
            try:
                own = packed(stored.load(beside(file, FOLDER)))
            except InputError:  # a damaged one contains no evidence
                continue
            if not stored.is_same(own, packed_vectorizer) and self._content(file) == made:
                raise InputError(
                    file,
                    None,
                    "was made by another vectoriser than the data of the model, so its features have other numbers; "
                    "make it again with mpu vectorize --like and the data of the model, or predict the texts "
                    "themselves",
                )

    def names_of(self, naming: Naming, labels: np.ndarray) -> LabelNames | None:
        """Return the names of labels, as `Naming.names_of`.

        Raises InputError (as that; or the names beside the data belong to other data).
        """
        if naming.file is None:
            self.refuse(LABELS, "; or name the labels by --labels")
        return naming.names_of(labels, self._source)

    def ids(self, instances: int) -> RecordIds | None:
        """Read the id of each instance; None unless ids of these data exist beside each of the files.

        Raises InputError (there are more or fewer ids than instances).
        """
        texts: list[str] = []
        for file in files_of(self._source):
            if (ids := read_ids(file)) is None:
                return None
            texts += ids
        if self.stranger() is not None:
            return None
        if len(texts) != instances:
            raise wrong_number_of_ids(file, len(texts) > instances, self._source)
        return RecordIds(texts)

    def records(self) -> stored.Records | None:
        """Return the records that the data were made from; None if unknown, or for several files."""
        if isinstance(self._source, Files) or not self._expected or self.stranger() is not None:
            return None
        kept = stored.records_of(stored.read_manifest(beside(self._source, FOLDER)))
        if kept is None:
            return None
        return replace(kept, file=os.path.normpath(Path(self._source).parent / kept.file))

    def stored_vectorizer(self) -> stored.Stored | None:
        """Return the vectoriser that made the data, which have been read; None if their directory is absent.

        A vectoriser that is lost, damaged, or belongs to other data, is ignored with a warning. Several files have one
        if the same vectoriser is beside each of them.
        """
        files = files_of(self._source)
        kept = [there(file, FOLDER, stored.MANIFEST) or there(file, FOLDER, LABELS) for file in files]
        folders = [one.parent for one in kept if one is not None]
        if not folders:
            return None
        try:
            found = [stored.load(folder) for folder in folders]
            if len(folders) < len(files):
                raise InputError(folders[0], None, f"is not there for each of {self._source}")
            for folder, other in zip(folders[1:], found[1:], strict=True):
                if not stored.is_same(packed(other), packed(found[0])):
                    raise InputError(folder, None, f"is of another vectoriser than {folders[0]}")
        except InputError as error:
            _log.warning(f"{_UNKNOWN}: {error}")
            return None
        if (stranger := self.stranger()) is not None or any(one.content is None for one in found):
            folder = folders[0] if stranger is None else beside(stranger, FOLDER)
            _log.warning(f"{folder}: belongs to other data, not to {shown(self._source)}; {_UNKNOWN}")
            return None
        return found[0]

    def refuse(self, name: str, otherwise: str = "") -> None:
        """Raise InputError if the file with this name beside the data belongs to other data."""
        file = self.stranger()
        if file is not None and (kept := there(file, FOLDER, name)) is not None:
            raise InputError(
                kept,
                None,
                f"belongs to other data than {shown(file)}, which is not as mpu vectorize wrote it: make both again "
                f"with mpu vectorize, or move {kept.parent.name} away{otherwise}",
            )

    def _content(self, file: str) -> Content:
        """Return the content of a file, read now if the reader has not read it."""
        content = self.contents[file]
        if content is None:
            with open_input(file) as stream:
                counted = Counted(stream)
                while counted.read(BLOCK_BYTES):
                    pass
            content = self.contents[file] = counted.content()
        return content


def wrong_number_of_ids(file: str | Path, are_more: bool, source: Source) -> InputError:
    """Return the error that the number of ids beside a file differs from the number of instances in a source."""
    how = "more" if are_more else "fewer"
    return InputError(
        beside(file, FOLDER) / IDS,
        None,
        f"has {how} ids than {shown(source)} has instances; each has one, on a line: remove this file, or make both "
        "again",
    )
