"""What predictions are of and in: ids of data files, texts in place of data, directories of files, and records."""

import json
import logging
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache
from itertools import count, pairwise
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.errors import STANDARD_STREAM, InputError, MpuError, OverlapError, shown
from mpu_cli.names import LabelNames, read_ids
from mpu_cli.names.lines import NOT_UTF8, cell
from mpu_cli.names.naming import ids_file
from mpu_cli.runtime import signals
from mpu_cli.runtime.urls import file_name
from mpu_cli.svmlight.dataset import Dataset
from mpu_cli.svmlight.grammar import MAX_LINE_BYTES
from mpu_cli.text.analyzer import batches
from mpu_cli.text.languages import languages_of, strangers
from mpu_cli.text.records import NAME_ENCODING, Bad, Record, RecordReader, form_and_fields, open_records
from mpu_cli.text.sidecars import Sidecars, from_one, wrong_number_of_ids
from mpu_cli.text.stored import unpacked


def in_folder(folder: str | Path, sources: Sequence[str]) -> dict[str, Path]:
    """Return where the predictions of each file are: in a directory, under its own name.

    A name that ends in ``.gz``, ``.bz2`` or ``.xz`` makes compressed predictions too.
    """
    files: dict[str, str] = {}
    for source in sources:
        name = "" if source == STANDARD_STREAM else file_name(source).name
        if not name:
            raise OverlapError(f"{shown(source)} has no name that its predictions in {folder} could have")
        if (other := files.setdefault(name, source)) != source:
            raise OverlapError(
                f"{shown(other)} and {shown(source)} have the same name, and so would their predictions in {folder}; "
                "predict them into two directories"
            )
    return {source: Path(folder, name) for name, source in files.items()}


@contextmanager
def making(folder: Path, targets: Collection[Path]) -> Iterator[None]:
    """Make a directory in which some files will be, unless it is there; remove it again if nothing came of them."""
    try:
        folder.mkdir()
    except FileExistsError:
        if not folder.is_dir():
            raise MpuError(
                f"{folder}: is a file, and predictions of several go to a directory; give another -o"
            ) from None
        if taken := next((target for target in targets if target.is_dir()), None):
            raise MpuError(f"{taken}: is a directory, and a file is to be written there") from None
        yield
        return
    except OSError as error:
        raise MpuError(f"{folder}: cannot be made: {error.strerror}") from error

    def remove_if_empty() -> None:
        with suppress(OSError):
            folder.rmdir()

    with signals.finally_call(remove_if_empty):
        yield


RECORD_FORMS = ("jsonl", "tsv")


class Ids:
    """The ids of a data file, to be taken in order: from the file beside it, or else the instances' numbers, from 1."""

    def __init__(self, source: str | Path) -> None:
        self.source = source
        self.sidecars = Sidecars(source)
        ids = read_ids(source)
        self._has_file = ids is not None
        self._ids: Iterator[str] = map(str, count(1)) if ids is None else ids

    def take(self, n: int) -> list[str]:
        """Return the next n ids; InputError where there are fewer."""
        taken = [text for _, text in zip(range(n), self._ids, strict=False)]
        if len(taken) < n:
            raise self._error(are_more=False)
        return taken

    def finish(self) -> None:
        """Raise InputError where there are more ids than instances, or they belong to other data."""
        if self._has_file and next(self._ids, None) is not None:
            raise self._error(are_more=True)
        self.sidecars.refuse_ids()

    def _error(self, are_more: bool) -> InputError:
        return InputError(str(ids_file(self.source)), None, wrong_number_of_ids(are_more, self.source))


def header(form: str, names: LabelNames | None) -> bytes:
    """Return the first line of an output of this form; empty where it has none."""
    uri = "\turi" * (names is not None and names.has_uris)
    return f"id\tlabel\tprobability{uri}\n".encode() if form == "tsv" else b""


def record_writer(form: str, label_ids: np.ndarray, names: LabelNames | None, by_number: bool) -> Callable[..., bytes]:
    """Return a function that writes the records of a subset of the instances.

    `form`: {"jsonl", "tsv"}: an object on each line, with ``id``, ``labels`` and ``probabilities``; or a line for each
    label, with id, label and probability, between tabs, harmless to spreadsheets (see `names.lines`). Where labels have
    URIs, both have these too: ``uris``, null for a label without one, and a last column.
    `label_ids`: int, shape (q,): the label of each column. Labels are written by `LabelNames.shown`.
    `by_number`: write whole numbers for labels, also where there are names. Otherwise labels are always text.
    Returns: from ids; where the entries of each instance start and end; the columns of all entries; their
    probabilities; and, for ``why`` of JSON lines, what speaks for each of them.
    """
    as_json = form == "jsonl"

    @cache
    def label(column: int) -> str:
        number = int(label_ids[column])
        if names is None or by_number:
            return f'"{number}"' if as_json and not by_number else str(number)
        return json.dumps(names.shown(number), ensure_ascii=False) if as_json else names.in_cell(number)

    @cache
    def uri(column: int) -> str:
        text = None if names is None else names.uri(int(label_ids[column]))
        return json.dumps(text, ensure_ascii=False) if as_json else cell(text or "")

    has_uris = names is not None and names.has_uris

    def write(
        ids: Sequence[str],
        indptr: np.ndarray,
        columns: np.ndarray,
        probabilities: np.ndarray,
        why: Sequence[Sequence[str]] | None = None,
    ) -> bytes:
        labels = [label(column) for column in columns.tolist()]
        uris = [uri(column) for column in columns.tolist()] if has_uris else []
        values = np.asarray(probabilities, np.float32).astype("U").tolist()  # the fewest digits
        lines = []
        for text, (start, stop) in zip(ids, pairwise(indptr.tolist()), strict=True):
            if as_json:
                lines.append(
                    f'{{"id": {json.dumps(text, ensure_ascii=False)}, "labels": [{", ".join(labels[start:stop])}], '
                    f'"probabilities": [{", ".join(values[start:stop])}]'
                    + f', "uris": [{", ".join(uris[start:stop])}]' * has_uris
                    + ("" if why is None else f', "why": {json.dumps(why[start:stop], ensure_ascii=False)}')
                    + "}\n"
                )
            else:
                first = cell(text)
                last = [f"\t{text}" for text in uris] or [""] * len(labels)
                lines += [f"{first}\t{labels[i]}\t{values[i]}{last[i]}\n" for i in range(start, stop)]
        return "".join(lines).encode()

    return write


_log = logging.getLogger(__name__)


class Texts:
    """Texts as chunks of instances, with their ids, by the vectoriser of a model.

    `source`: the file, or the name of the texts in messages.
    `texts`: texts in place of a file.
    `form`: one of `text.records.FORMATS`; None: as the name of the file tells.
    `encoding`: of the file, as `text.records.Fields` has it.
    """

    def __init__(
        self,
        packed_vectorizer: bytes | None,
        source: str | Path,
        texts: Iterable[str] = (),
        form: str | None = None,
        max_line_bytes: int = MAX_LINE_BYTES,
        encoding: str = "",
    ) -> None:
        if packed_vectorizer is None:
            raise InputError(
                str(source),
                None,
                "is taken for texts, and the model was trained on vectors; give these in a file such as new.svm, "
                "which mpu vectorize --like makes of texts",
            )
        from mpu_cli.text.vectorizer import Vectorizer  # scikit-learn takes half a second; vectors need none

        kept = unpacked(packed_vectorizer, "the model")
        self._vectorizer = Vectorizer.of(kept)
        self._fields = replace(kept.fields, tags=(), encoding=encoding)  # which are not looked at
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
        with open_records(self.name, self._max_line_bytes, self._fields.encoding) as stream:
            for _, record in RecordReader(stream, self.name, self._form, self._fields, self._max_line_bytes):
                if isinstance(record, Bad):
                    hint = NAME_ENCODING if record.problem == NOT_UTF8 and not self._fields.encoding else ""
                    raise InputError(self.name, record.line, record.problem + hint)
                yield record
