"""The worklist of a review: instances, with their labels, suggestions and texts."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from mpu_cli.errors import InputError, MpuError
from mpu_cli.names import LabelNames, RecordIds
from mpu_cli.names.name_files import Names, is_uri, uri_of
from mpu_cli.review.decisions import DRAWN, PROBABILITY, SOURCE, VERDICT, WHY, Decisions, read_cells
from mpu_cli.review.tables import NOTHING_ELSE, SAMPLE, SUGGESTION, chance, no_instance, probability, refuse_other_data
from mpu_cli.svmlight.dataset import Dataset

MOST_INSTANCES = 100_000  # on one page
_HEAVIEST = 30


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


@dataclass(frozen=True)
class Item:
    """One instance."""

    instance: int  # from 0
    annotated: list[int]  # labels, ascending
    suggested: list[Suggested]  # the most probable first
    id: str | None = None  # that of its record
    # The values of the fields that have its text; of several, the first one is the title
    texts: tuple[str, ...] | None = None
    features: tuple[tuple[str, float], ...] = ()  # the heaviest ones, by name or number; empty if there is a text

    @property
    def text(self) -> str | None:
        """The text as one, in paragraphs; None without one."""
        return None if self.texts is None else "\n\n".join(filter(None, self.texts))


@dataclass(frozen=True)
class Labels:
    """All labels that a person can choose from, ascending."""

    numbers: list[int]
    names: list[str]  # their numbers, if there are no names
    counts: list[int]  # number of annotations of each
    named: bool  # whether `names` are names, not numbers
    written: list[str]  # texts that each stand for one label alone (`LabelNames.written`)
    # Further names, by which a label can be searched for; empty without names
    further: list[list[str]] = field(default_factory=list)
    # For some labels, by their places, the places of those next broader
    broader: dict[int, list[int]] = field(default_factory=dict)
    uris: dict[int, str] = field(default_factory=dict)  # of some labels, by their places


@dataclass(frozen=True)
class Worklist:
    """The instances of a file to review."""

    file: str  # as the user named it
    checksum: str  # checksum of its features (`tables.checksum`)
    source: str  # {"sample", "suggestion", ""}: the `source` of the decisions (see `decisions`)
    items: list[Item]  # in the order of reviewing
    labels: Labels
    link: str | None = None  # the address of a record, with ``{id}`` in place of its id
    decided: Decisions | None = None  # before: the page opens with them
    ids: RecordIds | None = None


@dataclass(frozen=True)
class Shown:
    """What is shown of the records of instances, and what is decided of them."""

    ids: RecordIds | None = None
    # As `Item` has them. An instance without is shown by its features.
    texts: Mapping[int, tuple[str, ...]] | None = None
    link: str | None = None  # as `Worklist` has it
    # The next broader labels of some, by their numbers
    broader: Mapping[int, Sequence[int]] = field(default_factory=dict)
    decided: Decisions | None = None


Suggestions = dict[int, list[Suggested]]


def draw(n: int, size: int, seed: int) -> list[int]:
    """Draw instances at random. A larger sample of the same seed begins with the smaller one.

    Examples
    --------
    >>> draw(10, 5, seed=0)[:3] == draw(10, 3, seed=0)
    True
    """
    if size > n:
        raise MpuError(f"{size} instances cannot be drawn from {n}; give a smaller sample")
    return np.random.default_rng(seed).permutation(n)[:size].tolist()


def read_suggestions(
    path: str | Path,
    data: Dataset,
    source: str | Path,
    checksum: str,
    names: LabelNames | None = None,
    ids: RecordIds | None = None,
) -> Suggestions:
    """Read suggestions, in the format of a review file with a column ``probability``, if there is one.

    Lines that are decided, or suggest an annotated label, are skipped. So are all after the first of a cell.

    `source`: the file of the data, as the user named it.
    `checksum`: the checksum of the data.
    `names`, `ids`: as for `decisions.read`.
    Returns: suggested labels by instance; instances in the order of the file, labels as `Item` has them.
    Raises InputError (the file is not one of suggestions, or does not belong to the data).
    """
    optional = (PROBABILITY, DRAWN, WHY, SOURCE)
    cells = read_cells(path, optional, names, ids)
    refuse_other_data(cells.source, cells.checksum, checksum, source)
    texts = map(cells.column, (VERDICT, *optional))
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
        if (left := [suggestion for label, suggestion in labels.items() if label not in _annotated(data, instance)])
    }


def _annotated(data: Dataset, instance: int) -> list[int]:
    indptr = data.labels.indptr
    return data.labels.indices[indptr[instance] : indptr[instance + 1]].tolist()


def make(
    data: Dataset,
    source: str | Path,
    *,
    checksum: str,
    sample: list[int] | None = None,
    suggestions: Suggestions | None = None,
    shown: Shown = Shown(),
    label_names: LabelNames | None = None,
    feature_names: Names | None = None,
) -> Worklist:
    """Create the worklist: of the sample, or else of instances with suggestions, or else of all instances.

    `data`, `source`, `checksum`: as for `read_suggestions`.
    `sample`: instances drawn at random.
    `suggestions`: shown for a sample too, which stays random: suggestions do not change its instances.
    `feature_names`: the names of each feature, from `names.name_files.read_names`. Features without a name are shown by
    number.
    """
    order = choose(len(data), sample, suggestions)
    items = []
    for instance in order:
        annotated = _annotated(data, instance)
        suggested = (suggestions or {}).get(instance, [])
        own = (shown.texts or {}).get(instance)
        heaviest = _heaviest(data, instance, feature_names) if own is None else ()
        key = None if shown.ids is None else shown.ids.texts[instance]
        items.append(Item(instance, annotated, suggested, key, own, heaviest))
    kind = SAMPLE if sample is not None else SUGGESTION if suggestions is not None else ""
    labels = _labels(data, items, label_names, shown)
    return Worklist(str(source), checksum, kind, items, labels, shown.link, shown.decided, shown.ids)


def choose(n: int, sample: list[int] | None, suggestions: Suggestions | None) -> list[int]:
    """Return the instances to review, in order."""
    order = sample if sample is not None else list(suggestions) if suggestions is not None else list(range(n))
    if len(order) > MOST_INSTANCES:
        raise MpuError(
            f"{len(order):,} instances are too many to review at once (at most {MOST_INSTANCES:,}): draw a sample, or "
            "give fewer suggestions"
        )
    return order


def _heaviest(data: Dataset, instance: int, names: Names | None) -> tuple[tuple[str, float], ...]:
    part = slice(data.features.indptr[instance], data.features.indptr[instance + 1])
    indices, values = data.features.indices[part], data.features.data[part]
    order = np.argsort(-np.abs(values), kind="stable")[:_HEAVIEST]
    return tuple((_feature(int(indices[i]), names), float(f"{values[i]:.4g}")) for i in order)


def _labels(data: Dataset, items: list[Item], names: LabelNames | None, shown: Shown) -> Labels:
    counts = np.bincount(data.labels.indices)
    suggested = [one.label for item in items for one in item.suggested]
    named = [] if names is None else list(names.by_number)
    decided = [] if shown.decided is None else shown.decided.label[shown.decided.label != NOTHING_ELSE]
    others = (np.asarray(those, np.int64) for those in (suggested, named, decided))
    numbers = np.unique(np.concatenate([np.flatnonzero(counts), *others])).tolist()
    place = {number: i for i, number in enumerate(numbers)}
    return Labels(
        numbers,
        [str(number) if names is None else names.name(number) for number in numbers],
        [int(counts[number]) if number < len(counts) else 0 for number in numbers],
        names is not None,
        [str(number) if names is None else names.written(number) for number in numbers],
        [] if names is None else [_further(names, number) for number in numbers],
        {
            i: above
            for number, i in place.items()
            if (above := [place[label] for label in shown.broader.get(number, ()) if label in place])
        },
        {i: uri for number, i in place.items() if names and (uri := uri_of(names.by_number.get(number, ())))},
    )


def _further(names: LabelNames, number: int) -> list[str]:
    return [name for name in names.by_number.get(number, ())[1:] if not is_uri(name)]


def _feature(number: int, names: Names | None) -> str:
    return next(iter((names or {}).get(number, ())), str(number))
