"""Texts in place of data: they are made vectors by the vectoriser that a model keeps."""

import logging
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path

from scipy.sparse import csr_array

from mpu_cli.errors import InputError, shown
from mpu_cli.svmlight.dataset import Dataset
from mpu_cli.svmlight.grammar import MAX_LINE_BYTES
from mpu_cli.text.analyzer import batches
from mpu_cli.text.annif import form_and_fields, open_records
from mpu_cli.text.languages import languages_of, strangers
from mpu_cli.text.records import Bad, Record, read_records
from mpu_cli.text.sidecars import from_one
from mpu_cli.text.stored import unpacked

_log = logging.getLogger(__name__)


class Texts:
    """Texts as chunks of instances, with their ids, by the vectoriser of a model.

    Parameters
    ----------
    source : str or Path
        The file, or the name of the texts in messages.
    texts : sequence of str, optional
        Texts in place of a file.
    form : str, optional
        One of `text.rows.FORMATS`; None: as the name of the file tells.

    Raises
    ------
    InputError
        The model has no vectoriser, or a damaged one.
    """

    def __init__(
        self,
        packed_vectorizer: bytes | None,
        source: str | Path,
        texts: Iterable[str] = (),
        form: str | None = None,
        max_line_bytes: int = MAX_LINE_BYTES,
    ) -> None:
        if packed_vectorizer is None:
            raise InputError(
                str(source),
                None,
                "these are texts, but the model knows no vectoriser: it keeps that of data that mpu vectorize wrote; "
                "make vectors by mpu vectorize --like",
            )
        from mpu_cli.text.vectorizer import Vectorizer  # scikit-learn takes half a second; vectors need none

        kept = unpacked(packed_vectorizer, "the model")
        self._vectorizer = Vectorizer.of(kept)
        self._fields = replace(kept.fields, tags="")  # which are not looked at
        self.name = str(source)
        self._texts = list(texts)
        self._form = None if self._texts else form_and_fields(source, form, self._fields)[0]
        self._max_line_bytes = max_line_bytes
        self._ids: deque[str] = deque()
        self._counts: Counter[str] = Counter()
        self._n = 0

    def chunks(self) -> Iterator[Dataset]:
        """Yield instances, without labels; InputError at the first bad record."""
        numbers = count(1)
        for batch in batches(self._records(), Record.size):
            self._ids.extend(
                str(number) if record.id is None else record.id for record, number in zip(batch, numbers, strict=False)
            )
            self._counts += languages_of(record.text for record in batch)
            self._n += len(batch)
            vectors = from_one(self._vectorizer.transform([record.text for record in batch]))
            yield Dataset(csr_array((len(batch), 0), dtype=bool), vectors)

    def take(self, n: int) -> list[str]:
        """Return the ids of the next n instances of the chunks."""
        return [self._ids.popleft() for _ in range(n)]

    def finish(self) -> None:
        """Warn of texts in languages that the model has not seen."""
        if others := strangers(self._counts, self._vectorizer.options_.languages, self._n):
            _log.warning(f"{shown(self.name)}: {others}")

    def _records(self) -> Iterator[Record]:
        if self._form is None:
            yield from (Record(line, text, (), None, False) for line, text in enumerate(self._texts, 1))
            return
        with open_records(self.name) as stream:
            for record in read_records(stream, self.name, self._form, self._fields, self._max_line_bytes):
                if isinstance(record, Bad):
                    raise InputError(self.name, record.line, record.problem)
                yield record
