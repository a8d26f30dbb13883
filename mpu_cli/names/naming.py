"""Files beside a data file: label names, implied labels, labels that may be suggested, filled-in labels.

For ``news.svm``, label names and ids are in ``news.text/``, which `mpu vectorize` writes.
"""

import logging
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mpu_cli.errors import STANDARD_STREAM, InputError, abridged, counted, shown
from mpu_cli.names import label_names
from mpu_cli.names.lines import at_line, text_lines
from mpu_cli.svmlight.streams import Files, Source, files_of, is_url, stem

if TYPE_CHECKING:
    import numpy as np

    from mpu_cli.core.implications import Implications


_log = logging.getLogger(__name__)
# Suffixes of the files beside a data file.
FOLDER, IMPLIED, FILLED, NAMES = ".text", ".implied", ".filled", ".labels"
LABELS, IDS, GROUPS, BROADER, DEPRECATED = "labels", "ids", "groups", "broader", "deprecated"
LABEL_FEATURES = "label-features.svm"
_NUMBERS = re.compile(r"[-+0-9.,:eE\s]*")
_LOOKED_AT = 100  # lines
_LISTED = 5


def beside(data: str | Path, suffix: str) -> Path:
    """Return the path beside a data file with a suffix: ``data/news.text`` for ``data/news.svm.gz``."""
    return Path(data).parent / f"{stem(data)}{suffix}"


def place_beside(data: str | Path, suffix: str) -> Path | None:
    """Return the same; None if no file can be beside the data: a standard stream, a URL, a pipe or a device."""
    path = Path(data)
    if str(data) == STANDARD_STREAM or is_url(data) or (path.exists() and not (path.is_file() or path.is_dir())):
        return None
    return beside(data, suffix)


def there(data: str | Path, suffix: str, *inside: str) -> Path | None:
    """Return the file beside a data file with a suffix, or the one inside the directory; None if absent."""
    place = place_beside(data, suffix)
    return path if place is not None and (path := place.joinpath(*inside)).is_file() else None


def find_names(source: Source) -> Path | None:
    """Find the label names of a data file: ``news.text/labels``, or else ``news.labels``; None if both are absent.

    ``news.labels`` is also used for ``news-train.svm``, if this has no names of its own. (Not for ``news-test.svm``: if
    labels are numbered from 0, it may lack label 0, and its names would be shifted.) A file ``news.labels`` that begins
    with lines of numbers, like predictions and label frequencies, is not read as names. Several data files may have the
    same names, fewer of them (from the start), or none.

    Raises InputError (the names beside two of several files contradict each other).
    """
    if isinstance(source, Files):
        return _common(source, find_names, "names by --labels")
    if (kept := there(source, FOLDER, LABELS)) is not None:
        return kept
    if (own := place_beside(source, NAMES)) is None:
        return None
    for file in dict.fromkeys((own, own.with_name(f"{own.stem.removesuffix('-train')}{NAMES}"))):
        is_another = file.is_file() and not file.samefile(source)
        if is_another and not all(map(_NUMBERS.fullmatch, islice(text_lines(file), _LOOKED_AT))):
            return file
    return None


def find_broader(source: Source) -> Path | None:
    """Return the file of a data file's broader labels: ``news.text/broader`` or ``news.implied``; None if absent.

    Several data files may have the same ones, fewer of them (from the start), or none.

    Raises InputError (the files beside two of several data files contradict each other).
    """
    if isinstance(source, Files):
        return _common(source, find_broader, "rules by --implied")
    return there(source, FOLDER, BROADER) or there(source, IMPLIED)


def _common(files: Files, find: Callable[[str], Path | None], otherwise: str) -> Path | None:
    """Return the longest of the files found beside several data files; all others must be a beginning of it."""
    longest: Path | None = None
    lines: list[str] = []
    for path in filter(None, map(find, files)):
        others = list(text_lines(path))
        for line, (one, other) in enumerate(zip(lines, others, strict=False), 1):
            if one != other:
                problem = f"this line of {longest} is another one, but {files} are read as one"
                raise InputError(path, f"{problem}; give the right {otherwise}", line)
        if longest is None or len(others) > len(lines):
            longest, lines = path, others
    return longest


def read_names(source: str | Path, first: int = 1) -> tuple[label_names.Names, bool]:
    """Read a file of names as `parse_names` does; InputError also if it cannot be read."""
    is_ours = is_kept(source)
    return label_names.parse_names(text_lines(source, is_ours), str(source), first, is_ours)


def is_kept(file: str | Path) -> bool:
    """Return whether `mpu vectorize` wrote a file: line k of names names label k; broader labels are numbers."""
    path = Path(file)
    return path.name in (LABELS, BROADER) and path.parent.suffix == FOLDER


def read_ids(source: str | Path) -> Iterator[str] | None:
    """Read the id of each instance in a data file from ``news.text/ids``; None if that is absent."""
    path = there(source, FOLDER, IDS)
    return None if path is None else text_lines(path)


@dataclass(frozen=True)
class Naming:
    """Options for the names of labels."""

    # A file of names (see `label_names`). Default: the file beside the data, if any (`find_names`).
    file: str | Path | None = None
    # Whether line k names label k - 1, if lines have no numbers. Always so if the data contain label 0, which would
    # have no name otherwise.
    zero_based: bool = False

    def names_of(self, labels: "np.ndarray", source: Source) -> label_names.LabelNames:
        """Read the names of a data file's labels; log their file if it is beside the data.

        `labels`: the labels that occur.
        Returns: no names if there is no file of them.
        Raises InputError (the file is not a file of names, or does not fit the data: there are fewer lines without
        numbers than labels, or lines with numbers name none of them; or the names beside several files differ).
        """
        file = find_names(source) if self.file is None else self.file
        if file is None:
            return label_names.NAMELESS
        largest = int(labels.max(initial=0))
        first = 0 if self.zero_based or 0 in labels else 1
        by_number, is_numbered = read_names(file, first)
        texts = {name for of_label in by_number.values() for name in of_label}
        # Also of labels without a name, since their numbers may be names of others.
        names = label_names.LabelNames.of({**dict.fromkeys(labels.tolist(), ()), **by_number}, shown(file))
        named = sum(bool(by_number.get(number)) for number in labels.tolist())
        if is_numbered and named < len(labels):
            from mpu_cli.core.features import base_shift  # heavy, like NumPy

            if not named:
                raise InputError(file, f"names none of the labels of {shown(source)}, such as {labels[0]}")
            if base_shift([labels.min(), largest], [min(by_number), max(by_number)]):
                _log.warning(
                    f"{names.source} names labels {min(by_number)} to {max(by_number)}, and those of {shown(source)} "
                    f"are {labels.min()} to {largest}: are they numbered from different bases?"
                )
        elif not is_numbered:
            if len(labels) and largest not in by_number:
                line = "line k names label k" + " - 1" * (first == 0)
                raise InputError(
                    file,
                    f"has no name for label {largest} of {shown(source)}: {line}, of {len(by_number):,} lines; give "
                    "the right file by --labels, or put a number and a tab before each name",
                )
            if not is_kept(file) and first == 1 and 1 in labels and largest == len(by_number) - 1:
                _log.warning(
                    f"{names.source}: line 1 names label 1, but neither label 0 nor label {largest + 1}, of the last "
                    "line, occurs: if line 1 names label 0, give --zero-based"
                )
            if 2 * len(texts) < sum(map(bool, by_number.values())):
                few = f"{len(by_number):,} lines have only {counted(len(texts), 'different name')}"
                _log.warning(f"{names.source}: {few}: is this a line for each instance? Line k should name label k")
        if self.file is None and len(labels):
            found = f"{names.source} names {named:,} of {counted(len(labels), 'label')}"
            _log.info(found, extra={"counts": {"named": named}})
        return names


BESIDE = Naming()


@dataclass(frozen=True)
class Suggestible:
    """Files of the labels that may be suggested; predicted probabilities do not depend on them."""

    # `only`, `exclude`: labels that may be suggested, and labels that may not. Text after a tab in a line is ignored.
    only: str | Path | None = None
    exclude: str | Path | None = None

    def by_option(self) -> dict[str, Any]:
        """Return the files by option name, as `refuse_overlaps` takes them."""
        return {"--only": self.only, "--exclude": self.exclude}

    def of(self, ids: "np.ndarray", names: label_names.LabelNames, source: Source | None = None) -> "np.ndarray | None":
        """Return a mask of the labels that may be suggested: bool, shape (q,); None if all may.

        `source`: the data; labels that are deprecated in their thesaurus are suggested only if they are in `only`.
        Raises InputError (a file cannot be read, contains a name of several labels, or no label; or no label is left).
        """
        places = (there(file, FOLDER, DEPRECATED) for file in ([] if source is None else files_of(source)))
        deprecated = list(filter(None, places))
        if self.only is None and self.exclude is None and not deprecated:
            return None
        import numpy as np  # heavy, and every command imports this module

        if self.only is not None:
            allowed = np.isin(ids, _labels(self.only, ids, names))
        else:
            lines = (line for path in deprecated for line in text_lines(path))
            allowed = ~np.isin(ids, [number for line in lines if (number := label_names.as_number(line)) is not None])
        if self.exclude is not None:
            allowed &= ~np.isin(ids, _labels(self.exclude, ids, names))
            if not allowed.any():
                raise InputError(self.exclude, "excludes every label that might be suggested otherwise")
        return allowed


EVERY_LABEL = Suggestible()


def _labels(source: str | Path, ids: "np.ndarray", names: label_names.LabelNames) -> list[int]:
    """Read labels; a warning counts the labels that are not in use."""
    lines: list[tuple[str, int | None]] = []
    for place, line in enumerate(text_lines(source), 1):
        first, *others = map(str.strip, line.split("\t"))
        if text := label_names.without_brackets(first):
            with at_line(source, place):
                lines.append((text, names.find(text, others)))
    known = set(ids.tolist())
    used = known.intersection(number for _, number in lines)
    if not used:
        raise InputError(source, "no line of it is the number or a name of a label; each should be one")
    if absent := [text for text, number in lines if number not in known]:
        unused = f"{len(absent):,} of {counted(len(lines), 'line')} with unknown labels"
        _log.warning(f"{shown(source)}: {unused}, such as {label_names.quoted(absent[0])}")
    return sorted(used)


def read_implications(source: str | Path, names: label_names.LabelNames = label_names.NAMELESS) -> "Implications":
    """Read which labels imply which: two columns, narrower and broader label, separated by spaces or a tab.

    Labels are numbers, or names if `names` contains them. Names with spaces need the tab. In such a line, ``#`` starts
    a comment only at the start of a column, unless the column is a name. A header line is skipped. A name that is not a
    label only passes on its implications, and a warning counts such lines: the rules may be those of a whole thesaurus.

    Raises InputError (the file cannot be read, a line does not have two labels, or none has labels in use).
    """
    from mpu_cli.core.implications import Implications  # heavy, like NumPy

    names = label_names.NAMELESS if is_kept(source) else names
    pairs: list[tuple[int, int]] = []
    unused: dict[str, int] = {}  # numbers below 0
    first_unused = 0  # line

    def number(text: str, names: label_names.LabelNames) -> int:
        found = names.find(text) if names else names.number(text)
        return unused.setdefault(text, -1 - len(unused)) if found is None else found

    for place, line in enumerate(text_lines(source), 1):
        with at_line(source, place):
            fields = _fields(line, names)
            if not fields or (not pairs and [field.lower() for field in fields] == ["narrower", "broader"]):
                continue
            if len(fields) != 2:
                raise ValueError(
                    "expected two labels, the narrower and the broader one, such as: 12 7; between names, put a tab"
                )
            # `mpu suggest` writes numbers.
            by_number = Path(source).suffix == IMPLIED and all(map(label_names.is_number, fields))
            narrower, broader = (number(field, label_names.NAMELESS if by_number else names) for field in fields)
        pairs.append((narrower, broader))
        first_unused = first_unused or place * bool(unused)
    pairs_in_use = sum(min(pair) >= 0 for pair in pairs)
    if unused and not pairs_in_use:
        with at_line(source, first_unused):
            names.number(next(iter(unused)))  # raises the error
    if unused:
        _log.warning(
            f"{shown(source)}: {len(pairs) - pairs_in_use:,} of {counted(len(pairs), 'line')} with unknown "
            f"labels, such as {label_names.quoted(next(iter(unused)))}"
        )
    implications = Implications(pairs)
    if circle := implications.circle:
        known = {label: text for text, label in unused.items()}
        texts = [known.get(label) or names.shown(label) for label in circle]
        _log.warning(
            f"{shown(source)}: labels imply each other in a cycle: {abridged(texts[:_LISTED], len(texts))}"
            "; where one of them is annotated, all count as true: correct a line if they are not the same"
        )
    return implications


def _fields(line: str, names: label_names.LabelNames) -> list[str]:
    plain = line.partition("#")[0].split()
    if "\t" not in line.strip() or (plain and all(map(label_names.is_number, plain))):
        return plain
    columns = map(str.strip, line.split("\t"))
    fields = takewhile(lambda text: not text.startswith("#") or names.find(text) is not None, columns)
    return list(filter(None, fields))
