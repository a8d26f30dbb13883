"""Texts where data are read: a model that was trained on vectors of texts keeps the vectoriser."""

import logging
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path

from scipy.sparse import csr_array

from mpu_cli.errors import InputError
from mpu_cli.svmlight.dataset import Dataset
from mpu_cli.svmlight.grammar import MAX_LINE_BYTES
from mpu_cli.svmlight.sources import Source, files_of
from mpu_cli.svmlight.streams import open_input
from mpu_cli.text import stored
from mpu_cli.text.batches import batches
from mpu_cli.text.belonging import Belonging
from mpu_cli.text.directory import directory_of, from_one
from mpu_cli.text.packed import packed, unpacked
from mpu_cli.text.records import Record, chosen_format, read_records
from mpu_cli.text.rows import Bad

_log = logging.getLogger(__name__)
_UNKNOWN = "the model will not know how to make vectors of texts, nor the words of names"


def kept_vectorizer(source: Source, instances: int, belonging: Belonging) -> stored.Stored | None:
    """Return the vectoriser that is kept beside a data file; None if there is none.

    One that is damaged, or belongs to other data, is left out with a warning. Several files have one if the same is
    kept beside each of them.

    Parameters
    ----------
    source : str, Path or Files
    instances : int
        How many it has.
    belonging : Belonging
        Of the source, which has been read.
    """
    directories = [directory_of(file) for file in files_of(source)]
    there = [path for path in directories if path is not None and (path / stored.MANIFEST).is_file()]
    if not there:
        return None
    try:
        kept = stored.load(there[0])
        if len(there) < len(directories):
            raise InputError(str(there[0]), None, f"is not there for each of {source}")
        belongs, own = 0 if kept.content is None else kept.content.instances, packed(kept)
        for path in there[1:]:
            other = stored.load(path)
            if packed(other) != own:
                raise InputError(str(path), None, f"is of another vectoriser than {there[0]}")
            belongs += 0 if other.content is None else other.content.instances
    except InputError as error:
        _log.warning(f"{_UNKNOWN}: {error}")
        return None
    stranger = belonging.stranger()
    if belongs != instances or stranger is not None:
        folder = there[0] if stranger is None else directory_of(stranger)
        _log.warning(f"{folder}: belongs to other data, not to the {instances:,} instances of {source}; {_UNKNOWN}")
        return None
    return kept


class Texts:
    """Texts as chunks of instances, with their ids.

    Parameters
    ----------
    vectorizer : bytes or None
        That of a model.
    source : str or Path
        What is read, or the name of what is given, for errors.
    given : sequence of str, optional
        The texts, if they come from no file.
    form : str, optional
        One of `text.rows.FORMATS`; None: as the name of the file tells.
    max_line_bytes : int

    Raises
    ------
    InputError
        The model has no vectoriser, or a damaged one.
    """

    def __init__(
        self,
        vectorizer: bytes | None,
        source: str | Path,
        given: Iterable[str] = (),
        form: str | None = None,
        max_line_bytes: int = MAX_LINE_BYTES,
    ) -> None:
        if vectorizer is None:
            raise InputError(
                str(source),
                None,
                "these are texts, but the model knows no vectoriser: it keeps that of data that mpu vectorize wrote; "
                "make vectors by mpu vectorize --like",
            )
        from mpu_cli.text.vectorizer import Vectorizer  # scikit-learn takes half a second; vectors need none

        kept = unpacked(vectorizer, "the model")
        self._vectorizer = Vectorizer.of(kept)
        self._fields = replace(kept.fields, tags="")  # which are not looked at
        self.name = str(source)
        self._given = list(given)
        self._form = None if self._given else chosen_format(source, form)
        self._max_line_bytes = max_line_bytes
        self._ids: deque[str] = deque()

    def chunks(self) -> Iterator[Dataset]:
        """Yield instances, without labels; InputError at the first bad record."""
        numbers = count(1)
        for batch in batches(self._records(), Record.size):
            self._ids.extend(
                str(number) if record.id is None else record.id for record, number in zip(batch, numbers, strict=False)
            )
            vectors = from_one(self._vectorizer.transform([record.text for record in batch]))
            yield Dataset(csr_array((len(batch), 0), dtype=bool), vectors)

    def take(self, n: int) -> list[str]:
        """Return the ids of the next n instances of the chunks."""
        return [self._ids.popleft() for _ in range(n)]

    def finish(self) -> None:
        """Do nothing: each instance has an id."""

    def _records(self) -> Iterator[Record]:
        if self._form is None:
            yield from (Record(line, text, (), None, False) for line, text in enumerate(self._given, 1))
            return
        with open_input(self.name) as stream:
            for record in read_records(stream, self.name, self._form, self._fields, self._max_line_bytes):
                if isinstance(record, Bad):
                    raise InputError(self.name, record.line, record.problem)
                yield record
