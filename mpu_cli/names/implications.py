"""Files of labels that imply others: a line for each pair, ``narrower broader``, with ``#`` comments."""

import logging
from collections.abc import Iterable, Mapping
from pathlib import Path

from mpu_cli.core.side.implications import Implications
from mpu_cli.errors import counted, shown
from mpu_cli.names.label_names import LabelNames, is_number, label_of, quoted
from mpu_cli.names.lines import read_each, text_lines

_HEADER = ["narrower", "broader"]
_log = logging.getLogger(__name__)


def read_implications(source: str | Path, names: LabelNames | None = None) -> Implications:
    """Read which labels imply which: two columns, narrower and broader label, between them spaces or a tab.

    Labels are numbers, or names where names are known. Names with spaces need the tab. In such a line, ``#`` makes a
    comment only at the start of a column. A first line that names the columns is passed over. A name of no label only
    hands on what it implies, and a warning counts such lines: rules may be those of a whole thesaurus.

    Raises
    ------
    InputError
        The file cannot be read, a line is not two labels, or none is of labels in use.
    """
    pairs: list[tuple[int, int]] = []
    unused: dict[str, int] = {}  # numbers below 0
    pairs_in_use: int | None = None

    def number(text: str) -> int:
        if pairs_in_use == 0 or names is None or names.find(text) is not None:
            return label_of(text, names)
        return unused.setdefault(text, -1 - len(unused))

    def read(line: str) -> None:
        fields = _fields(line)
        if not fields or (not pairs and [field.lower() for field in fields] == _HEADER):
            return
        if len(fields) != 2 or (names is None and not all(map(is_number, fields))):
            raise ValueError(
                "expected two labels, the narrower and the broader one, such as: 12 7"
                + ("; names of labels are known by --labels" if names is None else "; between names, put a tab")
            )
        pairs.append((number(fields[0]), number(fields[1])))

    read_each(text_lines(source, lenient=True), source, read)
    pairs_in_use = sum(min(pair) >= 0 for pair in pairs)
    if unused and not pairs_in_use:
        pairs.clear()
        read_each(text_lines(source, lenient=True), source, read)  # which says what is wrong with the first one
    if unused:
        _log.warning(
            f"{shown(source)}: {counted(len(pairs) - pairs_in_use, 'line')} of {len(pairs):,} on labels that are not "
            f"in use, such as {quoted(next(iter(unused)))}"
        )
    return Implications(pairs)


def implication_lines(broader: Mapping[int, Iterable[int]]) -> str:
    """Return such a file, by number, of the next broader labels of some."""
    return "".join(f"{narrower}\t{wide}\n" for narrower, them in broader.items() for wide in them)


def _fields(line: str) -> list[str]:
    plain = line.partition("#")[0].split()
    if "\t" not in line.strip() or not plain or all(map(is_number, plain)):
        return plain
    fields = [field.strip() for field in line.split("\t")]
    end = next((i for i, field in enumerate(fields) if field.startswith("#")), len(fields))
    return [field for field in fields[:end] if field]
