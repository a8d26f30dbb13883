"""Convert texts with tags to a data file, reading them to detect languages, to fit features, and to write vectors."""

import os
import re
from array import array
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from html import unescape
from itertools import accumulate, chain, filterfalse
from operator import itemgetter
from pathlib import Path
from shlex import quote
from typing import Any

import click
import numpy as np
from scipy.sparse import csr_array

from mpu_cli.cli.messages import info, output_report, progress, warn
from mpu_cli.cli.options import refuse_overlaps, refuse_set
from mpu_cli.errors import DataError, InputError, abridged, changed, counted, shown
from mpu_cli.names.label_names import folded, is_uri
from mpu_cli.names.lines import as_a_file, composed
from mpu_cli.names.naming import FOLDER, GROUPS, IDS, place_beside
from mpu_cli.runtime.files import replacing_directory
from mpu_cli.runtime.options import options_of
from mpu_cli.svmlight.reader import Dataset
from mpu_cli.svmlight.streams import Measure, Measured, Readable, Writable, bytes_of, is_url, open_output, read_twice
from mpu_cli.svmlight.writer import write_instances
from mpu_cli.text import stored
from mpu_cli.text.analyzer import NO_STEMS, TextOptions, batches, languages_of, stem_for, strangers
from mpu_cli.text.fields import holder, value_of
from mpu_cli.text.labels import Labels, is_thesaurus, read_labels, read_thesaurus
from mpu_cli.text.records import (
    EMPTY,
    MOST_SHOWN,
    Fields,
    Record,
    RecordReader,
    Row,
    field_list,
    form_and_fields,
    no_field,
    open_records,
)
from mpu_cli.text.stored import Records, from_one, written
from mpu_cli.text.vectorizer import Vectorizer, check_directory, read_vectorization, write_directory

_MOST_LISTED = 20  # bad records
_MOST_NAMED = 3  # tags in a caution
_SEPARATORS = {",": "commas", ";": "semicolons", "|": "vertical bars", "\n": "line ends"}
_SEPARATORS |= {"\uff1b": "full-width semicolons", "\uff0c": "full-width commas", "\u3001": "ideographic commas"}
_BRACKETS = re.compile(r"[\[({].*[\])}]")
_VECTOR = re.compile("[01](?:[ ,]+[01])*")
_PLAIN = re.compile(r"""\s*(?!\(['"])[^\s\[{<|]""")  # a text that is not a list


def vectorize(
    file: str | Path,
    target: str | Path,
    *,
    form: str | None = None,
    skip_bad: bool = False,
    options: TextOptions | None = None,
    labels: str | Path | None = None,
    language: str | None = None,
    like: str | Path | None = None,
    **of_fields: Any,
) -> dict[str, Any]:
    """Convert texts with tags to a LIBSVM file, and write a directory beside it with everything needed to repeat that.

    Features and labels are numbered from 1. Labels are numbered as in the names file, then as in the earlier file; tags
    in neither follow, more frequent ones first if there is no earlier file. docs/reports.md describes the returned
    report.

    `target`: the data file, compressed by suffix. ``-`` and files that are not regular get no directory.
    `options`: how texts become vectors, unless `like` determines it.
    `labels`, `language`: a names file, as `text.labels.read_labels` reads it, or a thesaurus, and the language of its
    names. Not with `like`.
    `like`: an earlier data file: its features, idf and label numbers are used.
    `of_fields`: `text`, `tags`, `id`, `separator` and `group`, as in `Fields`; empty or None: the default, or the value
    in `like`.
    """
    form, default = form_and_fields(file, form)
    directory = place_beside(target, FOLDER)
    if directory is not None:
        check_directory(directory)
    vectorizer, known, cautions = None, Labels(), list[str]()
    if like is not None:
        vectorizer, known = read_vectorization(like)
        default = vectorizer.stored().fields
    elif labels is not None and is_thesaurus(labels):
        known, cautions = read_thesaurus(labels, language)
    elif labels is not None:
        known = read_labels(labels)
    if known.of_several and like is None:
        info(f"{shown(labels)}: {counted(len(known.of_several), 'name')} of several labels, kept apart by number")
    n_numbered = len(known)
    named = {kind: value for kind, value in of_fields.items() if value}
    fields = replace(default, **named, named=frozenset(named))
    reader, size = _Reader(str(file), form, fields, skip_bad), bytes_of(file)
    with read_twice(file, open_records) as opened, ExitStack() as beside, open_output(target, beside) as out:
        if like is None or "tags" in named:
            with opened() as stream:
                reader.find_tags(stream)
        work = None if directory is None else beside.enter_context(replacing_directory(directory))
        if vectorizer is None:
            options = options or TextOptions()
            if options.stem is None and options.analyzer == "word":
                with progress("finding the languages", size), opened() as stream:
                    options = replace(options, stem=stem_for(record.text for record in reader.records(stream)))
            with progress("reading texts", size), opened() as stream:
                vectorizer = _fit(reader, stream, options, known)
        writer = VectorWriter(out, work, vectorizer, known)
        with progress("writing vectors", size), opened() as stream:
            writer.write(reader.records(stream))
        if work is not None:
            assert reader.measure is not None  # everything has been read
            records = None  # standard input, a URL or a pipe cannot be read again
            if not is_url(file) and (Path(file).is_file() or Path(file).is_dir()):
                place = os.path.relpath(file, Path(target).parent)
                records = Records(place, form, skip_bad, reader.measure[1], reader.fields)
            content = stored.Content(writer.instances, len(known), *writer.measured.measure())
            kept = replace(vectorizer.stored(), fields=reader.fields, content=content, records=records)
            write_directory(work, kept, known)
    for line, problem in reader.listed:
        warn(f"{file}:{line}: left out: {problem}", line=line)
    if reader.bad:
        others = ", the first of them listed" * (reader.bad > len(reader.listed))
        lines = f" on {reader.bad_lines:,} lines" * (reader.bad_lines > reader.bad)
        warn(f"left out: {counted(reader.bad, 'bad record')}{lines}{others}")
    numbered, deprecated = enumerate(known.names, 1), {*known.deprecated}
    added = {number: names for number, names in numbered if number > n_numbered and number not in deprecated}
    cautions += _of_tags(reader, writer, added, like is None)
    cautions += _cautions(writer, added, labels, like)
    return {
        "instances": writer.instances,
        "annotations": writer.annotations,
        "labels": sum(map(bool, known.names)),
        "features": vectorizer.stored().width,
        "stem": vectorizer.options_.stem or NO_STEMS,
        "lead": str(vectorizer.options_.lead),
        "languages": {language: count for language, count in writer.languages.most_common() if language},
        "empty": writer.empty,
        "unknown": writer.unknown,
        "bad": reader.bad,
        "warnings": cautions,
    }


class VectorWriter:
    """Writes records as lines of a data file, and their ids and groups to files in a directory, if given.

    Tags that are not among the labels are added.
    """

    def __init__(self, out: Writable, directory: Path | None, vectorizer: Vectorizer, labels: Labels) -> None:
        self.measured = Measured(out)
        self._directory = directory
        self.vectorizer, self.labels = vectorizer, labels
        self.id_hashes = array("q")  # Python's hashes, since the ids themselves may not fit in memory
        # Instances written, their labels, empty texts, other texts without a feature, and records in which a tab or
        # line end in a tag, id or group was replaced with a blank.
        self.instances = self.annotations = self.empty = self.unknown = self.mended = 0
        self.languages: Counter[str] = Counter()  # of texts; "" if unclear
        self.of_several: Counter[str] = Counter()  # tags that are the name of several labels
        self.of_labels: Counter[int] = Counter()  # annotations, by number

    def write(self, records: Iterable[Record]) -> None:
        """Write records."""
        for batch in batches(records, Record.size):
            vectors = self.vectorizer.transform([record.text for record in batch])
            self.languages += languages_of(record.text for record in batch)
            labels = self._labels(batch)
            write_instances(self.measured, Dataset(labels, from_one(vectors)))
            self.id_hashes.extend(hash(record.id) for record in batch if record.id is not None)
            self._write_names(IDS, [record.id for record in batch])
            self._write_names(GROUPS, [record.group for record in batch])
            empty = sum(not record.text.strip() for record in batch)
            self.empty += empty
            self.unknown += int(np.count_nonzero(np.diff(vectors.indptr) == 0)) - empty
            self.mended += sum(record.mended for record in batch)
            self.annotations += labels.nnz
            self.instances += len(batch)

    def _labels(self, batch: list[Record]) -> csr_array:
        of_records = [sorted(set(map(self._number, record.tags))) for record in batch]
        numbers, ends = list(chain(*of_records)), [0, *accumulate(map(len, of_records))]
        self.of_labels.update(numbers)
        shape = (len(batch), len(self.labels) + 1)
        return csr_array((np.ones(len(numbers), bool), numbers, ends), shape=shape)

    def _number(self, tag: str) -> int:
        if self.labels.of_several and composed(tag) in self.labels.of_several:
            self.of_several[tag] += 1
        return self.labels.number(tag) or self.labels.add(tag)

    def _write_names(self, name: str, of_records: list[str | None]) -> None:
        lines = "".join(f"{one}\n" for one in of_records if one is not None)
        if self._directory is not None and lines:
            with (self._directory / name).open("a", encoding="utf-8", newline="\n") as file:
                file.write(lines if self.instances else as_a_file(lines))


class _Reader(RecordReader):
    """Counts records, and lists bad ones that are left out."""

    def __init__(self, source: str, form: str, fields: Fields, skip_bad: bool) -> None:
        super().__init__(source, form, fields, skip_bad)
        self.good = self.bad = self.bad_lines = 0
        self.measure: Measure | None = None
        self.listed: list[tuple[int, str]] = []  # line and problem
        self.first = Row(0)
        # `with_tags`: the tags fields that a record has. `separates`: whether one contains the separator. `cells`: how
        # many of them are texts, and contain another separator
        self.with_tags: set[str] = set()
        self.separates = False
        self.cells: Counter[str] = Counter()

    def records(self, stream: Readable) -> Iterator[Record]:
        """Read a stream from the start, as the base class does; InputError also if it has changed since."""
        self.good, self.bad, self.bad_lines, self.listed = 0, 0, 0, []
        self.cells.clear()
        measured = Measured(stream)
        for record in super().records(measured):
            self.good += 1
            self.first = self.first if self.first.line else record.row
            self._look_at(record.row.fields)
            yield record
        measure = measured.measure()
        if self.measure not in (None, measure):
            raise changed(self.source)
        self.measure = measure
        absent = [name for name in self.fields.tags if name not in self.with_tags]
        if self.good and absent and "tags" in self.fields.named:
            problem = no_field(absent[0], self.first.fields)
            others = "; no other record has it" * (self.good > 1)
            raise InputError(self.source, f"{problem}{others}{self._other_field(problem)}", self.first.line)

    def refuse(self, row: Row, problem: str) -> None:
        """Count a bad record, or raise InputError with the option that may help."""
        other = "" if self.good else self._other_field(problem)
        super().refuse(row, problem + (other or "; --skip-bad leaves bad records out"))
        self.bad += 1
        self.bad_lines += row.lines
        if len(self.listed) < _MOST_LISTED:
            self.listed.append((row.line, problem + other))

    def _look_at(self, fields: Mapping[str, object]) -> None:
        for name in self.fields.tags:
            if name not in self.with_tags and holder(fields, name) is not None:
                self.with_tags.add(name)
            if not self.separates and isinstance(cell := value_of(fields, name), str) and _PLAIN.match(cell):
                self.separates = self.fields.separator in cell
                self.cells.update(["", *(other for other in _SEPARATORS if other in cell)])

    def _other_field(self, problem: str) -> str:
        """Return the option that names another field, if a problem is that a field is missing."""
        for option, names in self.fields.by_option.items():
            if any(problem.startswith(f"there is no field {name!r}") for name in names):
                return f"; --{option} names the one that has the {option}"
        return ""


def _fit(reader: _Reader, stream: Readable, options: TextOptions, labels: Labels) -> Vectorizer:
    """Fit a vectoriser, and number the tags without a number: more frequent ones first, then alphabetically."""
    found: Counter[str] = Counter()

    def texts() -> Iterator[str]:
        for record in reader.records(stream):
            found.update({*map(composed, record.tags)})
            yield record.text

    def names() -> Iterator[str]:  # used when all texts have been read
        for tag in sorted(found, key=lambda tag: (-found[tag], tag)):
            if labels.number(tag) is None:  # as `add` gives all names of a deprecated concept a number
                labels.add(tag)
        for of_label in labels.names:
            yield from filterfalse(is_uri, of_label)

    vectorizer = Vectorizer(**written(options))
    try:
        names_of_labels = names()
        vectorizer.fit(texts(), names=names_of_labels)
        deque(names_of_labels, maxlen=0)  # hashed features need no names, but tags need their numbers
    except DataError as error:
        if reader.good:
            raise InputError(reader.source, str(error)) from error
    if not reader.good:
        if reader.listed:
            line, problem = reader.listed[0]
            raise InputError(reader.source, f"{problem}; all records are bad", line)
        raise InputError(reader.source, "there are no records")
    return vectorizer


def _of_tags(reader: _Reader, writer: VectorWriter, tags: Mapping[int, tuple[str, ...]], is_new: bool) -> Iterator[str]:
    """Yield warnings about the form of the tags; `tags`: the names of tags that are not in a names file."""
    fields, known = reader.fields, {of_label[0] for of_label in tags.values()}
    if is_new and not writer.annotations and fields.tags:
        name = repr(fields.tags[0])
        lacking = f"the field {name} is empty" if reader.with_tags else f"there is no field {name}"
        yield (
            f"no record has tags, so there is nothing to learn: {lacking}, and --tags names the one that has them; "
            f"{field_list(reader.first.fields)}"
        )
    if is_new and fields.are_tags:
        read = {*fields.text, *fields.tags, fields.id, fields.group}
        others = [name for name in reader.first.fields if name not in read]
        names, unread = (abridged(some[:MOST_SHOWN], len(some)) for some in (fields.tags, others))
        rest = f"; not read: {unread}" * bool(others)
        if "tags" not in fields.named:
            n_fields = counted(len(fields.tags), "field")
            yield f"{n_fields} of 0 and 1, each read as a tag: {names}{rest}; --tags names others"
    elif is_new and tags and writer.annotations and all(map(_VECTOR.fullmatch, known)):
        yield (
            "the only tags are 0 and 1: if they mark the true tags of a list, write the names of these, or a "
            "field of 0 and 1 for each"
        )
    for no, yes in (("0", "1"), ("-1", "1"), ("N", "Y")):
        if is_new and not fields.are_tags and len(fields.tags) > 1 and known >= {no, yes}:
            only = "a field of 0 and 1 is itself a tag only if --tags names only such fields"
            yield f"{no} and {yes} are read as tags: {only}"
    names_of_empty = ((k, of_label[0]) for k, of_label in tags.items() if EMPTY.fullmatch(of_label[0]))
    if empty := [f"{name!r} ({writer.of_labels[k]:,})" for k, name in names_of_empty]:
        yield f"tags that look like empty cells of a table are labels: {', '.join(empty)}; leave such cells empty"
    if 2 * len(lists := sorted(filter(_BRACKETS.fullmatch, known))) > len(known):
        yield f"{counted(len(lists), 'tag')} in brackets, such as {lists[0]!r}: if these are lists, remove the brackets"
    if fields.separator == ";" and (cut := [tag for tag in known if not unescape(f"{tag};").endswith(";")]):
        yield f"{counted(len(cut), 'tag')} cut within an HTML entity, such as {min(cut)!r}: write characters instead"
    other, count = max(((one, reader.cells[one]) for one in _SEPARATORS), key=itemgetter(1))
    if not reader.separates and 3 * count > reader.cells[""] > 1:
        option = quote(other) if other.isprintable() else f"${other!r}"
        yield (
            f"no {fields.separator!r} is in the tags of {counted(reader.cells[''], 'record')}, and {other!r} is in "
            f"{count:,}: if that separates them, --separator {option}"
        )
        return
    for separator, name in {" ": "blanks", **_SEPARATORS, "/": "slashes", "+": "plus signs", "::": "colons"}.items():
        several = sorted(tag for tag in known if separator in tag)
        joined = [tag for tag in several if known.issuperset(map(str.strip, tag.split(separator)))]
        if 2 * len(joined) > (len(several) if separator in {" ", *_SEPARATORS} else max(len(several), 3)):
            yield (
                f"{counted(len(joined), 'tag')} made of others, such as {joined[0]!r}: if {name} separate these, "
                f"--separator {quote(separator)}"
            )
            return


def _cautions(
    writer: VectorWriter, added: Mapping[int, tuple[str, ...]], named: str | Path | None, like: str | Path | None
) -> Iterator[str]:
    labels, vectorizer, numbered = writer.labels, writer.vectorizer, named if like is None else like
    if numbered is not None and added:
        listed = [repr(names[0]) for names in added.values()][:_MOST_NAMED]
        yield (
            f"{counted(len(added), 'tag')} not among the names of {shown(numbered)}, numbered from {min(added)} on: "
            f"{abridged(listed, len(added))}"
        )
    if labels.shared:
        yield (
            f"{counted(labels.shared, 'line')} of {shown(numbered)} with the name of an earlier line: the same label, "
            "so these numbers stay without a name"
        )
    if writer.of_several:
        most = [f"{tag!r} ({count:,})" for tag, count in writer.of_several.most_common(_MOST_NAMED)]
        yield (
            f"{counted(writer.of_several.total(), 'tag')} with the name of several labels, read as the first of "
            f"these; URIs as tags distinguish them: {abridged(most, len(writer.of_several))}"
        )
    if labels.by_id:
        tag, number = next(iter(labels.by_id.items()))
        yield (
            f"{counted(len(labels.by_id), 'tag')} taken for labels by the ids that end their URIs, such as {tag!r} for "
            f"{labels.names[number - 1][0]!r}"
        )
    first: dict[str, str] = {}  # of the names that are the same to people
    pairs = [(first.setdefault(folded(names[0]), names[0]), names[0]) for names in labels.names if names]
    if alike := [f"{one!r} and {other!r}" for one, other in pairs if one != other]:
        yield (
            f"{counted(len(alike), 'pair')} of labels that differ only by blanks, capital letters or invisible "
            f"characters, kept apart: {abridged(alike[:_MOST_NAMED], len(alike))}"
        )
    if repeated := len(writer.id_hashes) - len(np.unique(writer.id_hashes)):
        yield f"{counted(repeated, 'record')} with the id of an earlier one; each is an instance of its own"
    if writer.mended:
        yield f"tabs and line ends within tags, ids or groups became blanks, in {counted(writer.mended, 'record')}"
    if others := strangers(writer.languages, vectorizer.options_.languages):
        yield others
    if writer.empty or writer.unknown:
        are_rare = like is None and (vectorizer.options_.min_df or 1) > 1 and 2 * writer.unknown > writer.instances
        yield (
            f"instances without features: {counted(writer.empty, 'empty text')}, "
            f"{counted(writer.unknown, 'text')} without any known word"
            + "; --min-df 1 keeps words of a single text"
            * are_rare
        )
    if forgotten := vectorizer.forgotten_:
        yield (
            f"there were too many different n-grams to count them all: {forgotten:,} rare ones were "
            "dropped while counting; --ngrams 1-1 or --hashing counts all"
        )


def command(file: str, output: str, format: str | None, **chosen: Any) -> None:
    directory, options = place_beside(output, FOLDER), chosen["options"]
    labels, like = chosen["labels"], chosen["like"]
    if chosen["group"] is not None and directory is None:
        raise click.UsageError("--group needs a file for -o: the names of groups are written beside it.")
    if chosen["separator"] == "":
        raise click.UsageError("--separator is empty; give the text between two tags.")
    if like is not None:
        refuse_set(("labels", "language", *options_of(TextOptions)), "--like already determines this; leave {} out.")
    elif chosen["language"] is not None and (labels is None or not is_thesaurus(labels)):
        raise click.UsageError("--language chooses the names of a thesaurus in SKOS or CSV: give one by --labels.")
    elif directory is None:
        raise click.UsageError("-o needs a file: other files are written beside it. (With --like, - is possible.)")
    if options.hashing is not None and (options.min_df, options.max_features) != (None, None):
        raise click.UsageError("--min-df and --max-features choose from a vocabulary; --hashing keeps none.")
    inputs = {"TEXTS": file, "--labels": labels, "--like": like}
    refuse_overlaps(inputs, {"--output": output}, {"the directory that --output replaces": directory})
    output_report(vectorize(file, output, form=format, **chosen), _print_summary)


def _print_summary(report: dict[str, Any]) -> None:
    stems, lead = report["stem"], f"; lead: {report['lead']}" * (report["lead"] != "0")
    if "," in stems:  # several languages, with the number of texts in each
        of_each = {language: report["languages"].get(language, 0) for language in stems.split(",")}
        unclear = report["instances"] - sum(report["languages"].values())
        stems = ", ".join(f"{language} ({counted(count, 'text')})" for language, count in of_each.items())
        stems += f"; not clear: {unclear:,}"
    info(
        f"{counted(report['instances'], 'instance')} with {counted(report['annotations'], 'annotation')}; "
        f"{counted(report['labels'], 'label')}, {counted(report['features'], 'feature')}; stems: {stems}{lead}",
        **{name: value for name, value in report.items() if name != "warnings"},
    )
