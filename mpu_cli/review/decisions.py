"""Review files: people's decisions about labels, one on each line.

docs/guide/formats.md lists the columns. Files are tab-separated text, or variants from spreadsheets and people: CSV, a
byte order mark, CRLF or CR alone, empty lines, comments (lines that start with ``#``; below the first line, only those
without a second value), capital letters and spaces around column names and values, missing or surplus empty fields at
the end of a line, and other columns. Further columns, all optional:

- ``id``: the id of the instance's record, if the data have ids; it may replace the number;
- ``number``: the label's number, for readers of the file who lack the names;
- ``why``, of suggestions: the main evidence for the label, separated by semicolons.

A comment ``# suggestions N`` contains the number of suggestions with which the file was written. If all of these lines
still exist in its order, and none before the last decided one is undecided, the list was answered in order: its
decisions are a sample of the claims, even if all are ``yes``.

Lines may be in any order. A decision may be repeated, in one file or in several.
"""

import csv
import hashlib
import logging
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, combinations
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.predictions import values_at
from mpu_cli.core.problem import HowDecided
from mpu_cli.errors import InputError, one_line, shown
from mpu_cli.names.label_names import NAMELESS, LabelNames, RecordIds, as_number, quoted
from mpu_cli.names.lines import at_line, cell, delimiter_of, first_repeated, meanings, text_lines, whole
from mpu_cli.runtime.options import MOST_INSTANCES
from mpu_cli.svmlight.streams import Source, Writable

INSTANCE, ID, LABEL, NUMBER, VERDICT = "instance", "id", "label", "number", "verdict"
SOURCE, DRAWN, PROBABILITY, WHY, REVIEWER = "source", "drawn", "probability", "why", "reviewer"
NOTHING_ELSE = -1  # the label of a decision on all other labels
STAR = "*"
YES, NO = "yes", "no"
SAMPLE, SUGGESTION, QUESTION, ADDED = "sample", "suggestion", "question", "added"
_WORDS = {VERDICT: (YES, NO, ""), SOURCE: (SAMPLE, SUGGESTION, QUESTION, ADDED, "")}
_COLUMNS = INSTANCE, ID, LABEL, NUMBER, VERDICT, SOURCE, DRAWN, PROBABILITY, WHY, REVIEWER
_COMMENT = "#", '"#'  # spreadsheets quote a text that contains a comma
_LONGEST_COMMENT = 200  # characters of a comment about the data
_ROWS = 1 << 16
_log = logging.getLogger(__name__)
_MOST_DISPUTED = 10  # cells that a warning lists


@dataclass(frozen=True)
class Decisions:
    """Lines of review files: cells (instance, label), and perhaps decisions on them. Arrays of shape (m,)."""

    instance: np.ndarray  # int64: from 0
    label: np.ndarray  # int64: its number; `NOTHING_ELSE` for ``*``
    is_decided: np.ndarray  # bool: whether the line has a verdict
    verdict: np.ndarray  # bool: whether the label is true; False for ``*``
    is_sample: np.ndarray  # bool: whether the instance was drawn at random
    file: np.ndarray  # int64: the file with the decision, a position in `files`,
    line: np.ndarray  # int64: and its line there, from 1; the first of several that agree
    chance: np.ndarray  # float64: the probability with which the cell was drawn as a question; NaN if it was not
    origin: np.ndarray  # int8: the `HowDecided`; the largest of several
    probability: np.ndarray  # float64: the probability claimed for the cell when it was decided; NaN if unknown
    is_as_drawn: np.ndarray  # bool: whether it is a question, in a file that nobody seems to have sorted
    reviewer: np.ndarray  # object: who decided; empty if absent from the files
    why: np.ndarray  # object: the evidence for a suggestion; empty if absent
    files: tuple[str, ...]  # as the user named them
    # Of the data that each file numbers (`checksum`); None if the file has none, empty if it has only ids
    checksums: tuple[str | None, ...]
    names: LabelNames = NAMELESS  # of labels, for errors
    # How many questions are open between answered ones, in the order of a file, and these; None: none is
    skipped: tuple[int, int] | None = None

    def __len__(self) -> int:
        return len(self.instance)

    def __getitem__(self, kept: np.ndarray) -> "Decisions":
        """Return the lines selected by a mask or an index array."""
        return replace(self, **{name: vars(self)[name][kept] for name in self.columns()})

    def columns(self) -> list[str]:
        """Return the names of the columns."""
        return [name for name, value in vars(self).items() if isinstance(value, np.ndarray)]

    def cells(self) -> np.ndarray:
        """Return a number for each cell: int64, in the order of instances and labels."""
        return self.instance << 32 | (self.label + 1)

    def settle(self, others: "Decisions") -> np.ndarray:
        """Return which cells of others these lines decide, themselves or by ``*``: bool."""
        closed = self.instance[self.label == NOTHING_ELSE]
        return np.isin(others.cells(), self.cells()) | np.isin(others.instance, closed)

    def are_among(self, labels: csr_array) -> np.ndarray:
        """Return which cells are among labels of instances, by number, where there may be fewer of either: bool."""
        there = (self.label != NOTHING_ELSE) & (self.instance < labels.shape[0]) & (self.label < labels.shape[1])
        there[there] = values_at(labels, self.instance[there], self.label[there])
        return there

    def write(self, out: Writable, ids: RecordIds | None = None) -> None:
        """Write these decisions as they were read."""
        is_added = self.origin == HowDecided.ADDED
        kinds = np.select([self.is_sample, ~np.isnan(self.chance), is_added], [SAMPLE, QUESTION, ADDED], SUGGESTION)
        write(
            out,
            self.instance,
            self.label,
            verdict=np.where(self.verdict, YES, NO).tolist(),
            source=kinds.tolist(),
            probability=self.probability,
            drawn=self.chance,
            reviewer=self.reviewer.tolist(),
            names=self.names,
            ids=ids,
        )

    def error(self, i: int, problem: str) -> InputError:
        """Return an error at the line of decision i."""
        return InputError(self.files[self.file[i]], problem, int(self.line[i]))


_KINDS = int, int, bool, bool, bool, int, int, float, np.int8, float, bool, object, object
_EMPTY: Any = [*(np.zeros(0, kind) for kind in _KINDS), (), ()]
_NOTHING = Decisions(*_EMPTY)


def read(
    sources: Iterable[str | Path | Decisions],
    names: LabelNames = NAMELESS,
    ids: RecordIds | None = None,
    annotated: csr_array | None = None,
) -> Decisions:
    """Read one or several review files as one.

    A label on which two files contradict each other is left undecided, and so is ``*`` of its instance, since it would
    make the label false; a warning reports the agreement between the files. ``*`` in one file contradicts ``yes`` in
    another on a label that is not annotated, if its own file does not decide the label.

    `sources`: plain, or ``.gz``, ``.bz2``, ``.xz``, ``.zst``; ``-`` is standard input; or the results of `read_lines`.
    `names`, `ids`: the names of labels, and the ids of instances, that the files may contain.
    `annotated`: bool, shape (n, any): the annotated labels of each instance, by number. Default: none.
    Raises InputError (a file or a line breaks this format, or two decisions in a file contradict each other; the error
    contains both).

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "checked.tsv")
    ...     text = ["instance", "label", "verdict"], ["1", "7", "yes"], ["1", "*", "no"], ["2", "7", ""]
    ...     _ = path.write_text("".join("\\t".join(line) + "\\n" for line in text))
    ...     decisions = read([path])
    >>> decisions.instance, decisions.label, decisions.verdict
    (array([0, 0]), array([-1,  7]), array([False,  True]))
    """
    parts = [one if isinstance(one, Decisions) else read_lines(one, names, ids) for one in sources]
    both = [vars(part) for part in (*parts, _NOTHING)]
    columns: dict[str, Any] = {name: np.concatenate([part[name] for part in both]) for name in _NOTHING.columns()}
    columns["file"] = np.repeat(np.arange(len(both)), [len(part["file"]) for part in both])
    files, checksums = (tuple(chain.from_iterable(part[name] for part in both)) for name in ("files", "checksums"))
    every = Decisions(**columns, files=files, checksums=checksums, names=names)
    decided = replace(every[every.is_decided], skipped=_skipped(every))
    return _each_once(decided if len(parts) < 2 else _undisputed(decided, ids, annotated), ids)


def _skipped(every: Decisions) -> tuple[int, int] | None:
    """Count the questions that are open between answered ones, and these; None if none is open there.

    Questions are in random order. A file that was sorted does not show which were skipped.
    """
    is_answered = every[every.is_decided].settle(every)
    skipped = answered = 0
    for file in range(len(every.files)):
        there = is_answered[every.is_as_drawn & (every.file == file)]
        if (places := np.flatnonzero(there)).size:
            skipped += int(np.count_nonzero(~there[places[0] : places[-1]]))
            answered += len(places)
    return (skipped, answered) if skipped else None


def _undisputed(every: Decisions, ids: RecordIds | None, annotated: csr_array | None) -> Decisions:
    """Leave out labels on which files contradict each other, and ``*`` of their instances; warn about the agreement.

    A decision by one person that is in both files does not count as agreement of two.
    """
    is_open = every.label != NOTHING_ELSE
    if annotated is not None:
        is_open &= ~every.are_among(annotated)
    every_cell = list(zip(every.instance.tolist(), every.label.tolist(), strict=True))
    of_star = [cell for cell, is_it in zip(every_cell, is_open, strict=True) if is_it]
    said: list[dict[tuple[int, int], tuple[bool, str, str]]] = []  # by cell: verdict, reviewer and place
    for file, name in enumerate(every.files):
        one = _each_once(every[every.file == file], ids)
        words = np.where(one.verdict, YES, np.where(one.label == NOTHING_ELSE, f"{STAR} {NO}", NO))
        where = [f"{shown(name)}:{line} {word}" for line, word in zip(one.line, words, strict=True)]
        cells = zip(one.instance.tolist(), one.label.tolist(), strict=True)
        own = dict(zip(cells, zip(one.verdict.tolist(), one.reviewer, where, strict=True), strict=True))
        said.append({cell: star for cell in of_star if (star := own.get((cell[0], NOTHING_ELSE)))} | own)
    disputed: set[tuple[int, int]] = set()
    for (i, mine), (j, theirs) in combinations(enumerate(said), 2):
        both = [cell for cell in mine if cell in theirs and cell[1] != NOTHING_ELSE]
        others = sorted(cell for cell in both if mine[cell][0] != theirs[cell][0])
        both = [cell for cell in both if mine[cell][:2] != theirs[cell][:2] or not mine[cell][1]]
        if others:
            from sklearn.metrics import cohen_kappa_score  # slow to import

            kappa = cohen_kappa_score([mine[cell][0] for cell in both], [theirs[cell][0] for cell in both])
            _log.warning(
                f"{shown(every.files[i])} and {shown(every.files[j])} agree on {len(both) - len(others):,} of the "
                f"{len(both):,} labels of instances that both decide (Cohen's kappa {kappa:.2f}); {len(others):,} are "
                "left undecided: "
                + "; ".join(
                    f"label {label_text(cell[1], every.names)} of {_record(cell[0], ids)}: {mine[cell][2]} and "
                    f"{theirs[cell][2]}"
                    for cell in others[:_MOST_DISPUTED]
                )
                + "; ..." * (len(others) > _MOST_DISPUTED)
            )
        disputed.update(others)
    left_out = disputed | {(instance, NOTHING_ELSE) for instance, _ in disputed}
    return every[np.array([cell not in left_out for cell in every_cell], bool)] if disputed else every


def _record(instance: int, ids: RecordIds | None) -> str:
    if ids is None or instance >= len(ids.texts):
        return f"instance {instance + 1}"
    return one_line(ids.texts[instance])


def read_lines(source: str | Path, names: LabelNames = NAMELESS, ids: RecordIds | None = None) -> Decisions:
    """Read all lines of a review file, or of a file of suggestions; arguments and errors as for `read`."""
    file = str(source)
    columns, lines, notes = _read_table(file)
    empty = [""] * len(lines)

    def translated(function: Callable[..., object], *of: str, kind: type = int) -> np.ndarray:
        """Convert the values of columns, where they exist; a ValueError contains what is wrong in a row."""
        rows = list(zip(*(columns.get(name, empty) for name in of), strict=True))
        values: dict[tuple[str, ...], object] = {}
        for row in dict.fromkeys(rows):  # in order, so that the first wrong line is reported
            try:
                values[row] = function(*row)
            except ValueError as error:
                raise InputError(file, str(error), lines[rows.index(row)]) from None
        return np.array([values[row] for row in rows], kind)

    label_column = LABEL if names or NUMBER not in columns else NUMBER
    instance = translated(partial(_instance, ids=ids), INSTANCE, ID)
    label = translated(partial(label_number, names=names), label_column, NUMBER)
    words, verdict = (translated(partial(_word, name=name), name, kind=object) for name in (SOURCE, VERDICT))
    if len(wrong := np.flatnonzero((label == NOTHING_ELSE) & (verdict == YES))):
        raise InputError(file, "label * means all other labels, so its only verdict is no", lines[wrong[0]])
    claims = translated(probability, PROBABILITY, kind=float)
    chances = translated(chance, DRAWN, SOURCE, kind=float)
    origin = np.where(words == ADDED, HowDecided.ADDED, HowDecided.UNKNOWN).astype(np.int8)
    if PROBABILITY in columns:
        origin[np.isnan(claims) & (label != NOTHING_ELSE) & (words != ADDED)] = HowDecided.UNLISTED
    listed = (words == SUGGESTION) & (label != NOTHING_ELSE) & (origin == HowDecided.UNKNOWN)
    of_open = listed & ~np.isin(instance, instance[label == NOTHING_ELSE])
    is_whole = "suggestions" in notes and np.count_nonzero(listed) >= notes["suggestions"]
    if is_whole and _is_in_order(instance, np.nan_to_num(claims), verdict == "", of_open):
        origin[of_open] = HowDecided.IN_ORDER
    asked = ~np.isnan(chances)
    keys = [translated(str.lower, name, kind=object)[asked] for name in (ID, LABEL)]
    keys += [np.array([*map(float, texts)]) for texts in keys if all(map(str.isdecimal, texts))]
    keys += [values[asked] for values in (instance, label, claims, chances)]
    return Decisions(
        instance=instance,
        label=label,
        is_decided=verdict != "",
        verdict=verdict == YES,
        is_sample=(words == SAMPLE) | {SOURCE, DRAWN}.isdisjoint(columns),
        file=np.zeros(len(lines), int),
        line=np.array(lines, int),
        chance=chances,
        origin=origin,
        probability=claims,
        is_as_drawn=asked & (not any(map(_is_sorted, keys))),
        reviewer=translated(lambda text: meanings(text)[0], REVIEWER, kind=object),
        why=translated(str, WHY, kind=object),
        files=(file,),
        checksums=(notes.get("checksum") if INSTANCE in columns else "",),
        names=names,
    )


def _is_sorted(values: np.ndarray) -> bool:
    """Return whether values that are not all equal were sorted."""
    before, after = values[:-1], values[1:]
    return bool((before <= after).all()) != bool((before >= after).all())


def _is_in_order(instance: np.ndarray, claims: np.ndarray, undecided: np.ndarray, part: np.ndarray) -> bool:
    """Return whether part of a list was answered from the top: undecided lines are last, without having been sorted.

    A list is in the order of its claims; on the page, it is in that of each instance's largest claim.
    """
    _, group = np.unique(instance, return_inverse=True)
    largest = np.zeros(len(claims))
    np.maximum.at(largest, group, claims)
    undecided, *orders = (values[part] for values in (undecided, claims, largest[group]))
    is_as_listed = any((order[:-1] >= order[1:]).all() for order in orders)
    return bool((undecided[:-1] <= undecided[1:]).all()) and (is_as_listed or not undecided.any())


def _read_table(source: str) -> tuple[dict[str, list[str]], list[int], dict[str, Any]]:
    """Read this format's columns from a file, the line number of each row, and the comments about the data."""
    notes: dict[str, Any] = {}
    rows = _rows(source, notes)
    needed = [INSTANCE, LABEL, VERDICT]
    number, first = next(rows, (None, ""))
    if number is None:
        raise InputError(source, f"it is empty; its first line should name the columns: {', '.join(needed)}")
    delimiter = delimiter_of(first.lower(), "\t", needed)
    is_plain = delimiter == "\t" and not first.startswith('"')

    def values_of(line: str, number: int) -> list[str]:
        try:
            return line.split(delimiter) if is_plain else next(csv.reader([line], delimiter=delimiter))
        except csv.Error as error:
            raise InputError(source, f"this is not a row of a table ({error})", number) from None

    header = [name.strip().lower() for name in values_of(first, number)]
    while header and not header[-1]:
        header.pop()
    if ID in header and INSTANCE not in header:
        needed.remove(INSTANCE)
    if missing := [name for name in needed if name not in header]:
        problem = f"this line should name the columns, {'separated by tabs, ' * is_plain}but there is no"
        raise InputError(source, f"{problem} {missing[0]}; needed are {', '.join(needed)}", number)
    if twice := first_repeated(header):
        raise InputError(source, f"two columns are called {twice[:40]}", number)
    columns: dict[str, list[str]] = {name: [] for name in header if name in _COLUMNS}
    places = [(header.index(name), column) for name, column in columns.items()]
    same: dict[str, str] = {}  # so that a repeated value is in memory only once
    lines = []
    for number, line in rows:
        values = values_of(line, number)
        if line.startswith(_COMMENT) and not any(map(str.strip, values[1:])):
            continue
        if any(map(str.strip, values[len(header) :])):
            there = ", ".join(header)[:200]
            raise InputError(source, f"there are {len(values)} values, but the columns are {there}", number)
        for place, column in places:
            value = values[place] if place < len(values) else ""
            column.append(same.setdefault(value, value.strip()))
        lines.append(number)
    return columns, lines, notes


def _rows(source: str, notes: dict[str, Any]) -> Iterator[tuple[int, str]]:
    """Yield the lines with values, and their numbers; note what comments contain about the data.

    After the first line with values, only these comments are left out: an id, or a name, may begin with ``#`` too.
    """
    is_top = True
    for number, line in enumerate(text_lines(source), 1):
        comment = line[:_LONGEST_COMMENT].strip(' \t,;"')[1:].strip() if line.startswith(_COMMENT) else ""
        if comment.lower().startswith(("checksum", "suggestions")):
            with at_line(source, number):
                _note(comment.lower(), notes)
        elif line.strip(' \t,;"') and not (is_top and line.startswith(_COMMENT)):
            is_top = False
            yield number, line


def _note(comment: str, notes: dict[str, Any]) -> None:
    """Note the checksum of the data, or the number of suggestions: the sum, if files were joined."""
    word, *values = comment.split()
    value = values[0] if len(values) == 1 else ""
    if word == "suggestions" and value.isascii() and value.isdigit():
        notes[word] = notes.get(word, 0) + int(value)
    elif word == "checksum":
        if not CHECKSUM.fullmatch(value):
            raise ValueError("the checksum is damaged; it has 64 digits, of 0-9 and a-f")
        if notes.setdefault(word, value) != value:
            raise ValueError("there are two different checksums; are these two files in one?")


def label_number(text: str, number: str, names: LabelNames) -> int:
    """Return the label with a number or, given names, a name, perhaps beside its number; `NOTHING_ELSE` for ``*``."""
    if text == STAR:
        return NOTHING_ELSE
    label = names.number(text)
    if as_number(number) not in (None, label):
        raise ValueError(
            f"label {quoted(text)} does not have the number {number}; correct one of them, or remove the column that "
            "is wrong"
        )
    return label


def label_text(label: int, names: LabelNames = NAMELESS) -> str:
    """Return the text of a label: the reverse of `label_number`."""
    if label == NOTHING_ELSE:
        return STAR
    return cell(names.written(label))


def _word(text: str, name: str) -> str:
    if (word := text.lower()) not in _WORDS[name]:
        raise ValueError(f"{name} {quoted(text)} is not one of {', '.join(filter(None, _WORDS[name]))} and empty")
    return word


def chance(text: str, source: str) -> float:
    """Return the probability with which a question was drawn, above 0 up to 1; NaN for any other source.

    A cell that has this probability and no source is a question too.
    """
    if source.lower() != QUESTION and (source or not text):
        return math.nan
    if not 0 < (number := _number(text)) <= 1:
        raise ValueError(
            f"drawn {quoted(text)} is not the probability with which this question was drawn, a number above 0 up to "
            "1, as mpu suggest --questions writes it; if it is lost, write suggestion under source"
        )
    return number


def probability(text: str) -> float:
    """Return a probability, with a decimal point or, as spreadsheets write it, a comma; NaN for an empty text."""
    if text and not 0 <= _number(text) <= 1:
        raise ValueError(f"probability {quoted(text)} is not a number from 0 to 1")
    return _number(text)


def _number(text: str) -> float:
    try:
        return float(text.replace(",", ".", 1))
    except ValueError:
        return math.nan


def _instance(number: str, key: str, ids: RecordIds | None) -> int:
    """Return the instance, from 0, with a number from 1, or with the id of its record if there is no number."""
    if key and not number:
        if ids is None:
            raise ValueError(f"id {quoted(key)} has no instance number beside it, and the data have no ids")
        return ids.instance(key)
    from_1 = whole(number, MOST_INSTANCES)
    if not from_1:
        raise ValueError(f"instance {quoted(number)} is not an instance number; they count from 1")
    instance = from_1 - 1
    if key and ids is not None and instance < len(ids.texts) and not ids.is_of(key, instance):
        raise ValueError(
            f"instance {number} has the id {quoted(ids.texts[instance])}, and not {quoted(key)}: the data seem to have "
            "changed since; remove the column instance, so that ids are used, or correct this line"
        )
    return instance


def _each_once(every: Decisions, ids: RecordIds | None) -> Decisions:
    """Sort decisions, and keep the first of equal ones; a sample if one of them is, with the largest origin.

    Chance and claim are taken from the last one that has them.
    """
    _, row = np.unique(every.instance, return_inverse=True)
    _, first, group = np.unique(replace(every, instance=row).cells(), return_index=True, return_inverse=True)
    if len(others := np.flatnonzero(every.verdict != every.verdict[first[group]])):
        here = others[np.argmin(group[others])]
        before = first[group[here]]
        words = [YES if every.verdict[i] else NO for i in (here, before)]
        of = f"label {label_text(int(every.label[here]), every.names)} of {_record(int(every.instance[here]), ids)}"
        there = f"{words[1]} in {shown(every.files[every.file[before]])}:{every.line[before]}"
        raise every.error(here, f"{of} is {words[0]} here and {there}; remove one of the lines")
    once = every[first]
    np.maximum.at(once.is_sample, group, every.is_sample)
    np.maximum.at(once.origin, group, every.origin)
    for kept, values in ((once.chance, every.chance), (once.probability, every.probability)):
        is_there = ~np.isnan(values)
        kept[group[is_there]] = values[is_there]
    return once


def write(  # noqa: PLR0913 - the columns of a line, and information about the data
    out: Writable,
    instance: np.ndarray,
    label: np.ndarray,
    *,
    verdict: Sequence[str] | str = "",
    source: Sequence[str] | str = SUGGESTION,
    probability: np.ndarray | None = None,
    drawn: np.ndarray | None = None,
    why: Sequence[str] | None = None,
    reviewer: Sequence[str] | None = None,
    of: Source | None = None,
    checksum: str | None = None,
    names: LabelNames = NAMELESS,
    ids: RecordIds | None = None,
) -> None:
    """Write a review file, or a file of suggestions, which is a review file without verdicts.

    `instance`, `label`: int, shape (m,): for each line, the instance from 0; `NOTHING_ELSE` is written as ``*``.
    `verdict`: "yes", "no" or "": for each line, or for all.
    `source`: "sample", "suggestion", "question", "added" or "": for each line, or for all.
    `probability`, `drawn`: float, shape (m,): further columns; NaN for an empty cell.
    `why`, `reviewer`: the evidence for the label, and who decided: further columns.
    `of`: the data file, named in a comment; ``-`` is standard input.
    `checksum`: the checksum of the data, so that the file is refused for other data.
    `ids`: the ids of instances: a further column.

    >>> from io import BytesIO
    >>> out = BytesIO()
    >>> write(out, np.array([0, 0]), np.array([7, NOTHING_ELSE]), verdict=["yes", "no"], source="sample")
    >>> print(out.getvalue().decode().replace("\\t", " "))
    instance label verdict source
    1 7 yes sample
    1 * no sample
    <BLANKLINE>
    """
    if of is not None:
        out.write(f"# review of {one_line(' '.join(shown(of).split()))}\n".encode(errors="backslashreplace"))
    if checksum is not None:
        out.write(f"# checksum {checksum}\n".encode())
    if (verdict, source) == ("", SUGGESTION):
        out.write(f"# suggestions {len(instance)}\n".encode())
    both = (PROBABILITY, probability), (DRAWN, drawn)
    shares = {name: values for name, values in both if values is not None}
    more = {name: own for name, own in ((WHY, why), (REVIEWER, reviewer)) if own is not None}
    columns = [INSTANCE, *([] if ids is None else [ID]), LABEL, *shares, VERDICT, SOURCE, *more]
    out.write(("\t".join(columns) + "\n").encode())
    for start in range(0, len(instance), _ROWS):
        part = slice(start, start + _ROWS)
        numbers = instance[part].tolist()
        texts: list[Iterable[str]] = [[str(number + 1) for number in numbers]]
        if ids is not None:
            texts.append([cell(ids.texts[number]) for number in numbers])
        texts.append([label_text(number, names) for number in label[part].tolist()])
        texts += [(f"{value:.4g}".replace("nan", "") for value in values[part].tolist()) for values in shares.values()]
        texts += [[words] * len(numbers) if isinstance(words, str) else words[part] for words in (verdict, source)]
        texts += [map(cell, own[part]) for own in more.values()]
        out.write("".join("\t".join(row) + "\n" for row in zip(*texts, strict=True)).encode())


_ENTRIES = 1 << 20
CHECKSUM = re.compile("[0-9a-f]{64}")


def checksum(features: csr_array) -> str:
    """Return the SHA-256 of features, hexadecimal: of each instance's number of entries, their indices and values.

    >>> one, other = (csr_array(np.array(rows, np.float32)) for rows in ([[1, 2], [3, 4]], [[3, 4], [1, 2]]))
    >>> checksum(one) == checksum(one.copy()), checksum(one) == checksum(other)
    (True, False)
    """
    digest = hashlib.sha256()
    for numbers, kind in ((np.diff(features.indptr), "<i8"), (features.indices, "<i8"), (features.data, "<f4")):
        for start in range(0, len(numbers), _ENTRIES):
            digest.update(numbers[start : start + _ENTRIES].astype(kind).tobytes())
    return digest.hexdigest()
