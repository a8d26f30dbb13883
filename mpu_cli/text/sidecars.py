"""Sidecar files of data: names of labels, ids and the vectoriser, in the directory that `mpu vectorize` writes.

They are used only where the data are those that the directory was made with, by a checksum.
"""

import logging
from pathlib import Path

import numpy as np

from mpu_cli.errors import InputError, shown
from mpu_cli.names import LabelNames, Naming, RecordIds, read_ids
from mpu_cli.names.beside import IDS, LABELS, folder_of, ids_file
from mpu_cli.svmlight.sources import Content, Contents, Counted, Files, Source, files_of
from mpu_cli.svmlight.streams import BLOCK_BYTES, open_input
from mpu_cli.text import stored
from mpu_cli.text.directory import directory_of, made_with
from mpu_cli.text.stored import packed

_log = logging.getLogger(__name__)
_UNKNOWN = "the model will not know how to make vectors of texts, nor the words of names"


class Sidecars:
    """The sidecar files of one or several data files.

    Parameters
    ----------
    source : str, Path or Files

    Attributes
    ----------
    contents : dict
        Its keys are the files with such a directory. The reader fills in their content as it reads.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        contents = {file: made_with(file) for file in files_of(source)}
        self._expected = {file: (made.bytes, made.sha256) for file, made in contents.items() if made is not None}
        self.contents: Contents = dict.fromkeys(self._expected)

    def stranger(self) -> str | None:
        """Return the first file whose directory belongs to other data; None if there is none."""
        return next((file for file, expected in self._expected.items() if self._content(file) != expected), None)

    def names_of(self, naming: Naming, labels: np.ndarray, *, endless: bool = False) -> LabelNames | None:
        """Return the names of labels, as `Naming.names_of`.

        Raises
        ------
        InputError
            Also if the names beside the data belong to other data.
        """
        if naming.file is None:
            self._refuse(LABELS, "; or name the labels by --labels")
        return naming.names_of(labels, self._source, endless=endless)

    def refuse_ids(self) -> None:
        """Raise InputError if the ids beside the data belong to other data."""
        self._refuse(IDS)

    def ids(self, instances: int) -> RecordIds | None:
        """Read the id of each of so many instances; None where there are none of these data, beside each of the files.

        Raises
        ------
        InputError
            They are more or fewer than the instances.
        """
        texts: list[str] = []
        for file in files_of(self._source):
            if (ids := read_ids(file)) is None:
                return None
            texts += ids
        if self.stranger() is not None:
            return None
        if len(texts) != instances:
            raise InputError(str(ids_file(file)), None, wrong_number_of_ids(len(texts) > instances, self._source))
        return RecordIds(texts)

    def records(self) -> stored.Records | None:
        """Return which records the data were made of; None where nothing tells, or of several files."""
        if isinstance(self._source, Files) or not self._expected or self.stranger() is not None:
            return None
        kept = stored.records_of(stored.read_manifest(folder_of(self._source)))
        return None if kept is None else kept.seen_from(Path(self._source))

    def stored_vectorizer(self, instances: int) -> stored.Stored | None:
        """Return the vectoriser that made the data; None if there is none.

        One that is damaged, or belongs to other data, is ignored with a warning. Several files have one if the same
        vectoriser is beside each of them.

        Parameters
        ----------
        instances : int
            Number of instances of the data, which have been read.
        """
        directories = [directory_of(file) for file in files_of(self._source)]
        there = [path for path in directories if path is not None and (path / stored.MANIFEST).is_file()]
        if not there:
            return None
        try:
            kept = stored.load(there[0])
            if len(there) < len(directories):
                raise InputError(str(there[0]), None, f"is not there for each of {self._source}")
            belongs, own = 0 if kept.content is None else kept.content.instances, packed(kept)
            for path in there[1:]:
                other = stored.load(path)
                if packed(other) != own:
                    raise InputError(str(path), None, f"is of another vectoriser than {there[0]}")
                belongs += 0 if other.content is None else other.content.instances
        except InputError as error:
            _log.warning(f"{_UNKNOWN}: {error}")
            return None
        stranger = self.stranger()
        if belongs != instances or stranger is not None:
            folder = there[0] if stranger is None else directory_of(stranger)
            whose = f"the {instances:,} instances of {self._source}"
            _log.warning(f"{folder}: belongs to other data, not to {whose}; {_UNKNOWN}")
            return None
        return kept

    def _refuse(self, name: str, otherwise: str = "") -> None:
        file = self.stranger()
        if file is not None and (kept := folder_of(file) / name).is_file():
            raise InputError(
                str(kept),
                None,
                f"belongs to other data than {shown(file)}, which is not as mpu vectorize wrote it: make both anew by "
                f"mpu vectorize, or move {kept.parent.name} away{otherwise}",
            )

    def _content(self, file: str) -> Content:
        """Return the content of a file; read it now if the reader has not done so."""
        content = self.contents[file]
        if content is None:
            with open_input(file) as stream:
                counted = Counted(stream)
                while counted.read(BLOCK_BYTES):
                    pass
            content = self.contents[file] = counted.content()
        return content


def wrong_number_of_ids(are_more: bool, source: Source) -> str:
    """Return the message that ids are not as many as instances."""
    how = "more" if are_more else "fewer"
    return (
        f"has {how} ids than {shown(source)} has instances; each has one, on a line: remove this file, or make both "
        "anew"
    )
