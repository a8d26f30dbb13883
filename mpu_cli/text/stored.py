"""A vectoriser on disk, and the other files that `mpu vectorize` writes beside data, ``news.text`` for ``news.svm``.

docs/guide/text.md, "Sidecar files", describes the directory. It also contains
- ``broader``: lines with the numbers of a label and of a broader one, if a thesaurus contains them;
- ``groups``: the name of each instance's group, one per line, if a field contains it.

It is used only if the data have the checksum of the data that the directory was made with (`Sidecars`).

In a model, a vectoriser is one file (`packed`): a line of JSON, and the same bytes. Nothing is unpickled. Checksums
detect damage, and no array is larger than its file.
"""

import hashlib
import json
import logging
import math
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from mpu_cli import __version__
from mpu_cli.errors import DataError, InputError, shown
from mpu_cli.names import naming
from mpu_cli.names.label_names import LabelNames, RecordIds
from mpu_cli.names.naming import FILLED, FOLDER, IDS, IMPLIED, LABELS, Naming, beside, find_names, read_ids, there
from mpu_cli.runtime.files import expect, json_value, open_regular
from mpu_cli.runtime.options import AUTO, options_of
from mpu_cli.svmlight.grammar import MAX_ID
from mpu_cli.svmlight.streams import BLOCK_BYTES, Measure, Measured, Measures, Source, files_of, open_input
from mpu_cli.text.analyzer import TextOptions
from mpu_cli.text.records import DEFAULT_FIELDS, FORMATS, Fields

_log = logging.getLogger(__name__)
FORMAT, FORMAT_VERSION = "mpu text", 1
MANIFEST, FEATURES, HASHES, IDF = "manifest.json", "features", "hashes.bin", "idf.bin"
# The files that a directory may contain.
OURS = {MANIFEST, FEATURES, HASHES, IDF, LABELS, IDS}
OURS |= {naming.LABEL_FEATURES, naming.BROADER, naming.DEPRECATED, naming.GROUPS}
_IDF, _HASHES = np.dtype("<f8"), np.dtype("<i4")
MOST_BYTES = 1 << 20  # of a manifest
_FIELDS = ("text", "tags", "id", "separator", "group", "are_tags")
_PLACE = ("file", "form", "skip_bad", "sha256")
_LARGEST_IDF = 1 + math.log(2**63)  # of a term in one of 2^63 texts


@dataclass(frozen=True)
class Content:
    """The data file that a directory belongs to."""

    # `instances`, `labels`: their numbers, including labels that never occur
    instances: int
    labels: int
    bytes: int  # uncompressed size
    sha256: str  # checksum of these bytes


@dataclass(frozen=True)
class Records:
    """The file of records that a data file was made from."""

    file: str  # its path, relative to the directory of the data file
    form: str  # one of `text.records.FORMATS`
    skip_bad: bool  # whether bad records are skipped rather than becoming instances
    sha256: str | None  # checksum of the bytes read; None: any, for a file that the user names
    fields: Fields = DEFAULT_FIELDS


@dataclass(frozen=True)
class Stored:
    """The stored state of a vectoriser."""

    options: TextOptions
    features: list[str] | None  # None if features are hashed
    # float64, shape (D,), or (m + 1,) if features are hashed: the last value is for hashes that do not occur
    idf: np.ndarray
    fields: Fields = DEFAULT_FIELDS  # fields of the records
    content: Content | None = None  # None if it belongs to no data file
    hashes: np.ndarray | None = None  # int32, shape (m,): if features are hashed, those that occur, ascending
    records: Records | None = None  # the records that the data file was made from

    @property
    def width(self) -> int:
        """The number of features D."""
        return len(self.idf) if self.options.hashing is None else 2**self.options.hashing


def _files(kept: Stored) -> dict[str, bytes]:
    """Return a vectoriser's long arrays as file contents: idf, and feature names or hashes."""
    files = {IDF: kept.idf.astype(_IDF).tobytes()}
    if kept.hashes is not None:
        return files | {HASHES: kept.hashes.astype(_HASHES).tobytes()}
    return files | {FEATURES: "".join(f"{feature}\n" for feature in kept.features or ()).encode()}


def save(path: Path, kept: Stored) -> None:
    """Write the files of a vectoriser into a directory, which is created if missing."""
    path.mkdir(exist_ok=True)
    files = _files(kept)
    for name, data in files.items():
        (path / name).write_bytes(data)
    manifest = described(kept) | {"checksums": {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}}
    (path / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")


def load(path: Path) -> Stored:
    """Load a vectoriser that `save` has written; InputError if it is missing, damaged, or of another version."""
    if not (path / MANIFEST).exists():
        raise InputError(path, "there is no vectoriser; `mpu vectorize TEXTS -o news.svm` makes news.text")
    try:
        manifest, arrays = read_manifest(path), []
        for name in (IDF, FEATURES if manifest["options"]["hashing"] is None else HASHES):
            with open_regular(path / name) as file:
                arrays.append(file.readall())
            checksum = hashlib.sha256(arrays[-1]).hexdigest()
            expect(checksum == manifest["checksums"][name], f"the checksum of {name} is another")
        return _made(manifest, *arrays)
    except OSError as error:
        problem = f"cannot be read: {error.strerror}; run mpu vectorize again"
        raise InputError(error.filename or path, problem) from error
    except (DataError, KeyError, TypeError, ValueError) as error:
        problem = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise InputError(path, f"is damaged ({problem}); run mpu vectorize again") from error


def read_manifest(path: Path) -> dict[str, Any]:
    """Read the manifest of a directory; errors as for `open_regular` and `parse`."""
    with open_regular(path / MANIFEST) as file:
        return parse(file.read(MOST_BYTES), str(path))


def described(kept: Stored) -> dict[str, Any]:
    """Return the manifest of a vectoriser: everything but its long arrays, as JSON values."""
    return {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "mpu_version": __version__,
        "options": written(kept.options),
        "features": kept.width,
        **({} if kept.hashes is None else {"hashes": len(kept.hashes)}),
        "fields": {name: getattr(kept.fields, name) for name in _FIELDS},
        "content": None if kept.content is None else asdict(kept.content),
        **({} if (of := kept.records) is None else {"records": {name: getattr(of, name) for name in _PLACE}}),
    }


def parse(text: bytes, source: str) -> dict[str, Any]:
    """Parse a manifest that `described` returned.

    Raises InputError (it is of another version), ValueError, KeyError (it is damaged; `_made` checks the values).
    """
    expect(len(text) < MOST_BYTES, "the manifest is too long")
    values = json_value(text)
    expect(isinstance(values, dict) and values.get("format") == FORMAT, "the manifest is not that of a vectoriser")
    if values["format_version"] != FORMAT_VERSION:
        raise InputError(source, f"is of format {values['format_version']}; this mpu reads {FORMAT_VERSION}")
    n_features = values["features"]
    expect(type(n_features) is int and 0 < n_features <= MAX_ID, f"{n_features!r} is not a number of features")
    expect(isinstance(values["options"], dict), "options are not named")
    return values


def _made(values: Mapping[str, Any], idf_bytes: bytes, others: bytes) -> Stored:
    """Return the vectoriser with this manifest and the bytes from `_files`.

    Raises DataError, KeyError, TypeError, ValueError (it is damaged).
    """
    options, count, features, hashes = checked(values["options"]), values["features"], None, None
    if options.hashing is None:
        features = others.decode().split("\n")
        expect(features.pop() == "" and len(features) == count, f"names of features are not {count:,} lines")
        expect(len(set(features)) == count, "duplicate feature name")
    else:
        expect(count == 2**options.hashing, "features are not as many as hashes")
        hashes = np.frombuffer(others, _HASHES).astype(np.int32)
        expect(len(hashes) == values["hashes"], f"{HASHES} has a different number of them")
        ascending = np.all(np.diff(hashes, prepend=np.int32(-1)) > 0) and np.all(hashes < count)
        expect(bool(ascending), f"{HASHES} has no ascending hashes")
    idf = np.frombuffer(idf_bytes, _IDF).astype(np.float64)
    expect(len(idf) == (count if hashes is None else len(hashes) + 1), f"{IDF} has a different number of them")
    expect(bool(np.all((idf >= 1) & (idf <= _LARGEST_IDF))), f"{IDF} has values that are impossible")
    return Stored(options, features, idf, _fields(values["fields"]), content_of(values), hashes)


def content_of(values: Mapping[str, Any]) -> Content | None:
    """Return the data file that a manifest belongs to; errors as for `_made`."""
    if values["content"] is None:
        return None
    content = Content(**values["content"])  # they are only compared with those of the data
    *counts, checksum = map(type, asdict(content).values())
    expect({*counts} == {int}, "the counts of its content are not whole numbers")
    expect(checksum is str, "its content has no checksum")
    return content


def written(options: TextOptions) -> dict[str, Any]:
    """Return options as the values that `checked` reads."""
    values = asdict(options)
    return {
        name: AUTO if values[name] is None and option.has_auto else values[name]
        for name, option in options_of(TextOptions).items()
    }


def checked(values: Mapping[str, Any]) -> TextOptions:
    """Return options from the values in a manifest, or from a Python caller.

    Raises DataError (a value has a wrong type or is out of range, or values contradict each other).
    """
    options = TextOptions(**{name: option.check(values[name]) for name, option in options_of(TextOptions).items()})
    if options.hashing is not None and (options.min_df, options.max_features) != (None, None):
        raise DataError("min_df and max_features choose from a vocabulary; hashing keeps none")
    return options


def _fields(values: Mapping[str, Any]) -> Fields:
    text, tags, id, separator, group, are_tags = (values[name] for name in _FIELDS)
    are_lists = isinstance(text, list) and bool(text) and isinstance(tags, list) and isinstance(are_tags, bool)
    are_names = are_lists and all(isinstance(name, str) for name in (*text, *tags, id, separator, group))
    expect(are_names, "its fields are no names")
    expect(bool(separator), "nothing is between its tags")
    return Fields(tuple(text), tuple(tags), id, separator, group, are_tags=are_tags)


def packed(kept: Stored) -> bytes:
    """Return a vectoriser as bytes, without the data file that it belongs to, and the groups of its records."""
    header = json.dumps(described(replace(kept, content=None, fields=replace(kept.fields, group=""))))
    return b"".join([header.encode(), b"\n", *_files(kept).values()])


def is_same(one: bytes | None, other: bytes | None) -> bool:
    """Return whether two packed vectorisers number and weight features alike, regardless of the mpu version."""
    if one is None or other is None:
        return one is other
    return one.partition(b"\n")[2] == other.partition(b"\n")[2]


def unpacked(data: bytes, source: str) -> Stored:
    """Return the vectoriser from `packed`; InputError with its file if it is damaged or of another version."""
    try:
        header, _, rest = data.partition(b"\n")
        values = parse(header, source)
        size = (values["features"] if values["options"]["hashing"] is None else values["hashes"] + 1) * _IDF.itemsize
        return _made(values, rest[:size], rest[size:])
    except (DataError, KeyError, TypeError, ValueError) as error:
        raise InputError(source, f"the vectoriser is damaged ({error}); copy or train the model again") from error


def origin_of(data: str | Path) -> tuple[Content | None, Records | None]:
    """Return the data file that the directory beside one was made with, and the records that this was made from.

    None if they are unknown: the directory is missing or damaged, or does not contain them.
    """
    content = records = None
    with suppress(InputError, OSError, LookupError, TypeError, ValueError):  # reading the vectoriser raises the error
        if (manifest := there(data, FOLDER, MANIFEST)) is not None:
            values = read_manifest(manifest.parent)
            content = content_of(values)
            file, form, skip_bad, sha256 = (values["records"][name] for name in _PLACE)
            if form in FORMATS:
                place = os.path.normpath(Path(data).parent / str(file))
                records = Records(place, form, bool(skip_bad), str(sha256), _fields(values["fields"]))
    return content, records


def side_files(data: str | Path) -> Iterator[tuple[str, str | Path]]:
    """Yield all that commands may read with a data file, even a missing one, without being told, and what each is."""
    if (folder := beside(data, FOLDER)).is_dir():
        yield from ((name, folder / name) for name in sorted(OURS))
        yield "directory", folder
    yield "implied labels", beside(data, IMPLIED)
    yield "filled-in labels", beside(data, FILLED)
    with suppress(InputError, OSError):  # not text, so it contains no names; or there are no data
        if names := find_names(data):
            yield "label names", names
    if records := origin_of(data)[1]:
        yield "records", records.file


def from_one(vectors: csr_array) -> csr_array:
    """Return the vectors of a data file: column j becomes feature j + 1."""
    shape = (vectors.shape[0], vectors.shape[1] + 1)
    return csr_array((vectors.data, vectors.indices + 1, vectors.indptr), shape=shape)


_UNKNOWN = "the model will not be able to read texts or to use the words of label names"


class Sidecars:
    """The sidecar files of one or several data files.

    `measures`: its keys are the files with such a directory. The reader fills in their values as it reads.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        origins = {file: origin_of(file) for file in files_of(source)}
        self._expected = {file: (made.bytes, made.sha256) for file, (made, _) in origins.items() if made is not None}
        self._records = next(iter(origins.values()))[1] if len(origins) == 1 else None
        self.measures: Measures = dict.fromkeys(self._expected)

    def stranger(self) -> str | None:
        """Return the first file whose directory belongs to other data; None if all directories match."""
        return next((file for file, expected in self._expected.items() if self._measure(file) != expected), None)

    def refuse_other_vectorizer(self, packed_vectorizer: bytes) -> None:
        """Raise InputError if the data come from a vectoriser whose number of features or idf differ from a model's."""
        for file, made in self._expected.items():
            try:
                own = packed(load(beside(file, FOLDER)))
            except InputError:  # a damaged one contains no evidence
                continue
            if not is_same(own, packed_vectorizer) and self._measure(file) == made:
                raise InputError(
                    file,
                    "was made by another vectoriser than the data of the model, so its features have other numbers; "
                    "make it again with mpu vectorize --like and the data of the model, or predict the texts "
                    "themselves",
                )

    def names_of(self, naming: Naming, labels: np.ndarray) -> LabelNames:
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

    def records(self) -> Records | None:
        """Return the records that the data were made from; None if unknown, or for several files."""
        return self._records if self._expected and self.stranger() is None else None

    def stored_vectorizer(self) -> Stored | None:
        """Return the vectoriser that made the data, which have been read; None if their directory is absent.

        A vectoriser that is lost, damaged, or belongs to other data, is ignored with a warning. Several files have one
        if the same vectoriser is beside each of them.
        """
        files = files_of(self._source)
        kept = [there(file, FOLDER, MANIFEST) or there(file, FOLDER, LABELS) for file in files]
        folders = [one.parent for one in kept if one is not None]
        if not folders:
            return None
        try:
            found = [load(folder) for folder in folders]
            if len(folders) < len(files):
                raise InputError(folders[0], f"is not there for each of {self._source}")
            for folder, other in zip(folders[1:], found[1:], strict=True):
                if not is_same(packed(other), packed(found[0])):
                    raise InputError(folder, f"is of another vectoriser than {folders[0]}")
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
                f"belongs to other data than {shown(file)}, which is not as mpu vectorize wrote it: make both again "
                f"with mpu vectorize, or move {kept.parent.name} away{otherwise}",
            )

    def _measure(self, file: str) -> Measure:
        """Return the size and checksum of a file, read now if the reader has not read it."""
        measure = self.measures[file]
        if measure is None:
            with open_input(file) as stream:
                measured = Measured(stream)
                while measured.read(BLOCK_BYTES):
                    pass
            measure = self.measures[file] = measured.measure()
        return measure


def wrong_number_of_ids(file: str | Path, are_more: bool, source: Source) -> InputError:
    """Return the error that the number of ids beside a file differs from the number of instances in a source."""
    how = "more" if are_more else "fewer"
    return InputError(
        beside(file, FOLDER) / IDS,
        f"has {how} ids than {shown(source)} has instances; each needs one line: remove this file, or make both again",
    )
