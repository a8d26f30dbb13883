"""Review files: decisions of people about labels, one on each line.

Tab-separated text (`tables` has the details) with the columns

- ``instance``: the number of an instance of the data, from 1;
- ``id``, optional: the id of its record, where the data have ids; it may stand alone, without the number;
- ``label``: the number of a label, its name if there are names, or ``*``;
- ``number``, optional: the number of this label, for those who read the file without names;
- ``verdict``: ``yes`` or ``no``, in any case; a line without verdict is undecided, and skipped;
- ``source``, optional: ``sample`` if the instance was drawn at random; ``suggestion`` if a person or a program picked
  it; ``question`` if this cell alone was drawn, by chance; ``added`` if somebody added a label that nobody had
  suggested; empty if unknown. Without the column, all instances were drawn at random;
- ``drawn``, of questions: the probability with which the cell was drawn;
- ``probability``, optional: what was claimed of a suggestion or a question when it was made. A decision without it in a
  file that has it counts as ``added``;
- ``why``, of suggestions, optional: what speaks most for the label, separated by semicolons;
- ``reviewer``, optional: who has decided.

A comment ``# suggestions N`` says with how many lines of suggestions the file was written. Where these are still there,
and none before the last decided one is undecided, the list was answered in order: its decisions are a sample of what
was claimed, even if all are ``yes``.

``*`` with ``no`` completes the label set of the instance: labels that are annotated or ``yes`` are true, all others are
false. Lines may have any order. A decision may be repeated, in one file or in several.
"""

import logging
import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import TypeVar

import numpy as np

from mpu_cli.core.labels.verified import HowDecided
from mpu_cli.errors import InputError, one_line, shown
from mpu_cli.names import LabelNames, RecordIds
from mpu_cli.names.label_names import quoted
from mpu_cli.names.lines import cell, meanings
from mpu_cli.review.tables import (
    ADDED,
    CHECKSUM,
    NO,
    NOTHING_ELSE,
    QUESTION,
    SAMPLE,
    SUGGESTION,
    UNDECIDED,
    YES,
    Table,
    chance,
    instance_number,
    is_sample_word,
    label_number,
    label_text,
    no_instance,
    probability,
    read_table,
    refuse_other_data,
    verdict_number,
)
from mpu_cli.svmlight.dataset import Dataset
from mpu_cli.svmlight.streams import Source, Writable

INSTANCE, ID, LABEL, NUMBER, VERDICT = "instance", "id", "label", "number", "verdict"
SOURCE = "source"
DRAWN, REVIEWER = "drawn", "reviewer"
PROBABILITY, WHY = "probability", "why"
_OPTIONAL = ID, NUMBER, SOURCE, DRAWN, PROBABILITY, WHY, REVIEWER
_ROWS = 1 << 16
_log = logging.getLogger(__name__)
_MOST_DISPUTED = 10  # that a warning lists
T = TypeVar("T", bound=Hashable)


@dataclass(frozen=True)
class Decisions:
    """Decisions on cells (instance, label), each once, by instance and label.

    Attributes
    ----------
    instance : ndarray of int64, shape (m,)
        From 0.
    label : ndarray of int64, shape (m,)
        Number of the label; `NOTHING_ELSE` for ``*``.
    verdict : ndarray of bool, shape (m,)
        Whether the label is true. False for ``*``.
    is_sample : ndarray of bool, shape (m,)
        Whether the instance was drawn at random.
    file : ndarray of int64, shape (m,)
        The file of the decision, a position in `files`,
    line : ndarray of int64, shape (m,)
        and its line there, from 1; the first of several that agree.
    chance : ndarray of float64, shape (m,)
        The probability with which each cell was drawn as a question; NaN: it was not.
    origin : ndarray of int8, shape (m,)
        The `HowDecided` of each; the largest of several.
    probability : ndarray of float64, shape (m,)
        What was claimed of each cell when it was decided; NaN where the files do not say.
    reviewer : ndarray of object, shape (m,)
        Who decided each; empty where the files do not say.
    files : tuple of str
        As the user named them.
    checksums : tuple of str or None
        Of the data that each file numbers (`tables.checksum`); None if the file has none.
    undecided : int
        Number of lines without verdict.
    names : LabelNames or None
        Names of labels for errors.
    """

    instance: np.ndarray
    label: np.ndarray
    verdict: np.ndarray
    is_sample: np.ndarray
    file: np.ndarray
    line: np.ndarray
    chance: np.ndarray
    origin: np.ndarray
    probability: np.ndarray
    reviewer: np.ndarray
    files: tuple[str, ...]
    checksums: tuple[str | None, ...]
    undecided: int = 0
    names: LabelNames | None = None

    def __len__(self) -> int:
        return len(self.instance)

    def lines(self) -> "Lines":
        """Return what is written of these decisions, as they were read."""
        is_added = (self.origin == HowDecided.ADDED) & self.verdict
        kinds = np.select([self.is_sample, ~np.isnan(self.chance), is_added], [SAMPLE, QUESTION, ADDED], SUGGESTION)
        return Lines(
            self.instance,
            self.label,
            verdict=np.where(self.verdict, YES, NO).tolist(),
            source=kinds.tolist(),
            probability=self.probability,
            drawn=self.chance,
            reviewer=self.reviewer.tolist(),
        )

    def error(self, i: int, problem: str) -> InputError:
        """Return an error at the line of decision i."""
        return InputError(self.files[self.file[i]], int(self.line[i]), problem)

    def place(self, i: int) -> str:
        """Return file and line of decision i, for errors."""
        return f"{shown(self.files[self.file[i]])}:{self.line[i]}"


def read(
    sources: "Iterable[str | Path | WrittenCells]",
    names: LabelNames | None = None,
    ids: RecordIds | None = None,
) -> Decisions:
    """Read one or several review files as one.

    A label on which two files contradict each other is left undecided, and so is ``*`` of its instance, since it would
    make the label false; a warning says how far the files agree.

    Parameters
    ----------
    sources : iterable of str, Path or WrittenCells
        Plain, or ``.gz``, ``.bz2``, ``.xz``; ``-`` is standard input; or what `read_cells` has read.
    names : LabelNames, optional
        Names that labels may have in the files.
    ids : RecordIds, optional
        Ids that instances may have in the files.

    Raises
    ------
    InputError
        A file or a line breaks this format, or two decisions of a file contradict each other; the error names both.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "checked.tsv")
    ...     text = ["instance", "label", "verdict"], ["1", "7", "yes"], ["1", "*", "no"], ["2", "7", ""]
    ...     _ = path.write_text("".join("\\t".join(line) + "\\n" for line in text))
    ...     decisions = read([path])
    >>> decisions.instance, decisions.label, decisions.verdict, decisions.undecided
    (array([0, 0]), array([-1,  7]), array([False,  True]), 1)
    """
    files = [one if isinstance(one, WrittenCells) else read_cells(one, names, ids) for one in sources]
    nothing = WrittenCells("", {VERDICT: []}, [], None, None, *[np.zeros(0, np.int64)] * 2)  # where there is no file
    parts = [_decided(cells, number) for number, cells in enumerate([*files, nothing])]
    every = Decisions(
        **{name: np.concatenate([part[name] for part in parts]) for name in parts[0]},
        files=tuple(cells.source for cells in files),
        checksums=tuple(cells.checksum for cells in files),
        undecided=sum(len(cells.lines) for cells in files) - sum(len(part["line"]) for part in parts),
        names=names,
    )
    return _each_once(every if len(files) < 2 else _undisputed(every, ids), ids)


def _undisputed(every: Decisions, ids: RecordIds | None) -> Decisions:
    """Leave out labels on which files contradict each other, and ``*`` of their instances; warn how far they agree.

    What one person has decided and both files have is no agreement of two.
    """
    said: list[dict[tuple[int, int], tuple[bool, str, str]]] = []  # by cell: is it true, who says so, and where
    for file, name in enumerate(every.files):
        one = _each_once(_part(every, every.file == file), ids)
        where = [
            f"{shown(name)}:{line} {YES if true else NO}" for line, true in zip(one.line, one.verdict, strict=True)
        ]
        cells = zip(one.instance.tolist(), one.label.tolist(), strict=True)
        said.append(dict(zip(cells, zip(one.verdict.tolist(), one.reviewer, where, strict=True), strict=True)))
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
    cells = zip(every.instance.tolist(), every.label.tolist(), strict=True)
    return _part(every, np.array([cell not in left_out for cell in cells], bool)) if disputed else every


def _record(instance: int, ids: RecordIds | None) -> str:
    if ids is None or instance >= len(ids.texts):
        return f"instance {instance + 1}"
    return one_line(ids.texts[instance])


def _part(every: Decisions, kept: np.ndarray) -> Decisions:
    columns = {name: value[kept] for name, value in vars(every).items() if isinstance(value, np.ndarray)}
    return replace(every, **columns)


@dataclass(frozen=True)
class WrittenCells(Table):
    """The rows of a file of cells."""

    instance: np.ndarray  # int64, shape (m,): from 0
    label: np.ndarray  # int64, shape (m,)


def read_cells(source: str | Path, names: LabelNames | None = None, ids: RecordIds | None = None) -> WrittenCells:
    """Read a review file, or one of suggestions; arguments and errors as of `read`."""
    table = read_table(source, (INSTANCE, LABEL, VERDICT), _OPTIONAL, {INSTANCE: ID})
    both = list(zip(table.column(INSTANCE), table.column(ID), strict=True))
    instance = _translate(table, both, lambda pair: _instance(*pair, ids))
    column = NUMBER if names is None and NUMBER in table.columns else LABEL
    label = _translate(table, table.columns[column], lambda text: label_number(text, names))
    return WrittenCells(**vars(table), instance=instance, label=label)


def _instance(number: str, key: str, ids: RecordIds | None) -> int:
    """Return the instance of a number, or of the id of its record where there is no number."""
    if ids is None or not key:
        if key and not number:
            raise ValueError(f"id {quoted(key)} has no instance number beside it, and the data have no ids")
        return instance_number(number)
    if not number:
        return ids.instance(key)
    instance = instance_number(number)
    if instance < len(ids.texts) and not ids.is_of(key, instance):
        raise ValueError(
            f"instance {number} has the id {quoted(ids.texts[instance])}, and not {quoted(key)}; correct one of them, "
            "or remove the column that is wrong"
        )
    return instance


def _decided(cells: WrittenCells, file: int) -> dict[str, np.ndarray]:
    """Return the columns of `Decisions` of one file, for its lines with a verdict."""
    instance, label, sources = cells.instance, cells.label, cells.column(SOURCE)
    is_sample = np.ones(len(cells.lines), bool)
    if SOURCE in cells.columns:
        is_sample = _translate(cells, sources, is_sample_word, bool)
    verdict = _translate(cells, cells.columns[VERDICT], verdict_number)
    if len(wrong := np.flatnonzero((label == NOTHING_ELSE) & (verdict == 1))):
        raise InputError(
            cells.source, cells.lines[wrong[0]], "label * stands for all other labels, so its only verdict is no"
        )
    words = np.array([word.lower() for word in sources], object)
    origin = np.where(words == ADDED, HowDecided.ADDED, HowDecided.UNKNOWN).astype(np.int8)
    claims = _translate(cells, cells.column(PROBABILITY), probability, float)
    if PROBABILITY in cells.columns:
        origin[np.isnan(claims) & (label != NOTHING_ELSE)] = HowDecided.ADDED
    listed = (words == SUGGESTION) & (label != NOTHING_ELSE) & (origin != HowDecided.ADDED)
    of_open = listed & ~np.isin(instance, instance[label == NOTHING_ELSE])
    undecided = verdict[of_open] == UNDECIDED
    if cells.size is not None and np.count_nonzero(listed) >= cells.size and (undecided[:-1] <= undecided[1:]).all():
        origin[of_open] = HowDecided.IN_ORDER
    drawn = list(zip(cells.column(DRAWN), sources, strict=True))
    reviewers = cells.column(REVIEWER)
    own = {text: meanings(text)[0] for text in {*reviewers}}
    columns = {
        "instance": instance,
        "label": label,
        "verdict": verdict == 1,
        "is_sample": is_sample,
        "file": np.full(len(label), file),
        "line": np.array(cells.lines, np.int64),
        "chance": _translate(cells, drawn, lambda pair: chance(*pair), float),
        "origin": origin,
        "probability": claims,
        "reviewer": np.array([own[text] for text in reviewers], object),
    }
    return {name: column[verdict != UNDECIDED] for name, column in columns.items()}


def _translate(table: Table, values: Sequence[T], number: Callable[[T], float], kind: type[float] = int) -> np.ndarray:
    """Convert values of rows to numbers by a function, which raises a ValueError with the reason if one is wrong."""
    translated: dict[T, float] = {}
    for value in dict.fromkeys(values):  # in order, so that the first wrong line is reported
        try:
            translated[value] = number(value)
        except ValueError as error:
            raise InputError(table.source, table.lines[values.index(value)], str(error)) from None
    return np.fromiter((translated[value] for value in values), np.dtype(kind), len(values))


def _each_once(every: Decisions, ids: RecordIds | None) -> Decisions:
    """Sort decisions, and keep the first of those that agree; a sample if one of them is, with the largest origin.

    Chance and claim come from the last one that has them.
    """
    order = np.lexsort((every.label, every.instance))  # stable
    instance, label, verdict = every.instance[order], every.label[order], every.verdict[order]
    again = np.zeros(len(order), bool)
    again[1:] = (np.diff(instance) == 0) & (np.diff(label) == 0)
    first = np.flatnonzero(~again)
    group = np.cumsum(~again) - 1
    if len(other := np.flatnonzero(verdict != verdict[first][group])):
        here, before = order[other[0]], order[first[group[other[0]]]]
        words = [YES if every.verdict[i] else NO for i in (here, before)]
        of = f"label {label_text(int(every.label[here]), every.names)} of {_record(int(instance[other[0]]), ids)}"
        there = f"{words[1]} in {every.place(before)}"
        raise every.error(here, f"{of} is {words[0]} here and {there}; remove one of the lines")
    is_sample = np.zeros(len(first), bool)
    is_sample[group[every.is_sample[order]]] = True
    origin = np.maximum.reduceat(every.origin[order], first) if len(first) else every.origin

    def last_of(values: np.ndarray) -> np.ndarray:
        kept, in_order = np.full(len(first), np.nan), values[order]
        is_there = ~np.isnan(in_order)
        kept[group[is_there]] = in_order[is_there]
        return kept

    return replace(
        _part(every, order[first]),
        is_sample=is_sample,
        chance=last_of(every.chance),
        origin=origin,
        probability=last_of(every.probability),
    )


@dataclass(frozen=True)
class Suggested:
    """A label that may be missing from an instance."""

    label: int
    probability: float | None = None  # None: nobody knows
    drawn: float | None = None  # the probability with which it was drawn as a question; None: it is none
    why: tuple[str, ...] = ()  # features of the instance that speak for it

    @property
    def shown(self) -> float | None:
        """The probability that people see: none of a question, which they answer without it."""
        return self.probability if self.drawn is None else None


SuggestedByInstance = dict[int, list[Suggested]]


def suggestions_of(cells: WrittenCells, data: Dataset, source: str | Path, checksum: str) -> SuggestedByInstance:
    """Return the suggestions of a review file with a column ``probability``, if there is one.

    Lines that are decided, or suggest an annotated label, are skipped. So are all after the first of a cell.

    `source`: the file of the data, as the user named it.
    `checksum`: the checksum of the data.
    Returns: suggested labels by instance; instances in the order of the file, labels with the most probable first.
    Raises InputError (the file is not one of suggestions, or does not belong to the data).
    """
    refuse_other_data(cells.source, cells.checksum, checksum, source)
    texts = map(cells.column, (VERDICT, PROBABILITY, DRAWN, WHY, SOURCE))
    suggested: dict[int, dict[int, Suggested]] = {}
    rows = zip(cells.lines, cells.instance.tolist(), cells.label.tolist(), *texts, strict=True)
    for line, instance, label, verdict, probability_text, drawn_text, why, kind in rows:
        try:
            claimed, drawn = probability(probability_text), chance(drawn_text, kind)
        except ValueError as error:
            raise InputError(cells.source, line, str(error)) from None
        if instance >= len(data):
            raise InputError(cells.source, line, no_instance(instance, source, len(data)))
        if label != NOTHING_ELSE and not verdict:
            of_question = None if math.isnan(drawn) else drawn
            words = tuple(filter(None, why.split("; "))) if of_question is None else ()
            suggestion = Suggested(label, None if math.isnan(claimed) else claimed, of_question, words)
            suggested.setdefault(instance, {}).setdefault(label, suggestion)
    return {
        instance: sorted(left, key=lambda suggestion: -(suggestion.shown or 0))
        for instance, labels in suggested.items()
        if (left := [suggestion for label, suggestion in labels.items() if label not in labels_of(data, instance)])
    }


def labels_of(data: Dataset, instance: int) -> list[int]:
    """Return the labels that an instance is annotated with, ascending."""
    indptr = data.labels.indptr
    return data.labels.indices[indptr[instance] : indptr[instance + 1]].tolist()


@dataclass(frozen=True)
class Lines:
    """What is written of cells, a line each."""

    instance: np.ndarray  # int, shape (m,): from 0
    label: np.ndarray  # int, shape (m,): `NOTHING_ELSE` is written as ``*``
    _: KW_ONLY
    # `verdict`, `source`: of "yes", "no" and ""; of "sample", "suggestion", "question", "added" and ""
    verdict: Sequence[str] | str = ""
    source: Sequence[str] | str = SUGGESTION
    # `probability`, `drawn`: float, shape (m,), NaN for an empty cell: each adds a column of its name
    probability: np.ndarray | None = None
    drawn: np.ndarray | None = None
    # `why`, `reviewer`: what speaks for the label, and who decided: columns too
    why: Sequence[str] | None = None
    reviewer: Sequence[str] | None = None

    def __len__(self) -> int:
        return len(self.instance)


def write(
    out: Writable,
    lines: Lines,
    *,
    of: Source | None = None,
    checksum: str | None = None,
    names: LabelNames | None = None,
    ids: RecordIds | None = None,
) -> None:
    """Write a review file, or one of suggestions, which is a review file without verdicts.

    Parameters
    ----------
    out : binary file
    lines : Lines
        Any other word is a ValueError, and so is a wrong `checksum`: no value may add a line to the file.
    of : str or Path, optional
        The data file, named in a comment; ``-`` is standard input.
    checksum : str, optional
        Checksum of the data (`tables.checksum`), so that the file is refused for other data.
    names : LabelNames, optional
        Labels are written by these names.
    ids : RecordIds, optional
        The ids of instances: a further column.

    Examples
    --------
    >>> from io import BytesIO
    >>> out = BytesIO()
    >>> cells = np.array([0, 0]), np.array([7, NOTHING_ELSE])
    >>> write(out, Lines(*cells, verdict=["yes", "no"], source="sample"))
    >>> print(out.getvalue().decode().replace("\\t", " "))
    instance label verdict source
    1 7 yes sample
    1 * no sample
    <BLANKLINE>
    """
    for words, check in ((lines.verdict, verdict_number), (lines.source, is_sample_word)):
        for word in {words} if isinstance(words, str) else set(words):
            check(word)
    if of is not None:
        out.write(f"# review of {one_line(' '.join(shown(of).split()))}\n".encode(errors="backslashreplace"))
    if checksum is not None:
        if not CHECKSUM.fullmatch(checksum):
            raise ValueError(f"{quoted(checksum)} is not a checksum")
        out.write(f"# checksum {checksum}\n".encode())
    if (lines.verdict, lines.source) == ("", SUGGESTION):
        out.write(f"# suggestions {len(lines)}\n".encode())
    both = (PROBABILITY, lines.probability), (DRAWN, lines.drawn)
    shares = {name: values for name, values in both if values is not None}
    columns = [INSTANCE, *([] if ids is None else [ID]), LABEL, *shares, VERDICT, SOURCE]
    more = {name: own for name, own in ((WHY, lines.why), (REVIEWER, lines.reviewer)) if own is not None}
    columns += more
    out.write(("\t".join(columns) + "\n").encode())
    for start in range(0, len(lines), _ROWS):
        part = slice(start, start + _ROWS)
        size = len(lines.instance[part])
        texts: list[Iterable[str]] = [map(str, (lines.instance[part] + 1).tolist())]
        if ids is not None:
            texts.append([cell(ids.texts[instance]) for instance in lines.instance[part].tolist()])
        texts.append([label_text(label, names) for label in lines.label[part].tolist()])
        texts += [(f"{value:.4g}".replace("nan", "") for value in values[part].tolist()) for values in shares.values()]
        texts += [[words] * size if isinstance(words, str) else words[part] for words in (lines.verdict, lines.source)]
        texts += [map(cell, own[part]) for own in more.values()]
        out.write("".join("\t".join(row) + "\n" for row in zip(*texts, strict=True)).encode())
