"""Files of labels that imply others: a line for each pair, ``narrower broader``, with ``#`` comments."""

from pathlib import Path

from mpu_cli.core.side.implications import Implications
from mpu_cli.names import LabelNames
from mpu_cli.names.label_names import is_number, label_of
from mpu_cli.names.lines import read_each, text_lines

_HEADER = ["narrower", "broader"]


def read_implications(source: str | Path, names: LabelNames | None = None) -> Implications:
    """Read which labels imply which: two columns, narrower and broader label, between them spaces or a tab.

    Labels are numbers, or names where names are known. Names with spaces need the tab. In such a line, ``#`` makes a
    comment only at the start of a column. A first line that names the columns is passed over.

    Raises
    ------
    InputError
        The file cannot be read, or a line is not two labels.
    """
    pairs: list[tuple[int, int]] = []

    def read(line: str) -> None:
        fields = _fields(line)
        if not fields or (not pairs and [field.lower() for field in fields] == _HEADER):
            return
        if len(fields) != 2 or (names is None and not all(map(is_number, fields))):
            raise ValueError(
                "expected two labels, the narrower and the broader one, such as: 12 7"
                + ("; names of labels are known by --labels" if names is None else "; between names, put a tab")
            )
        pairs.append((label_of(fields[0], names), label_of(fields[1], names)))

    read_each(text_lines(source, lenient=True), source, read)
    return Implications(pairs)


def _fields(line: str) -> list[str]:
    plain = line.partition("#")[0].split()
    if "\t" not in line.strip() or not plain or all(map(is_number, plain)):
        return plain
    fields = [field.strip() for field in line.split("\t")]
    end = next((i for i, field in enumerate(fields) if field.startswith("#")), len(fields))
    return [field for field in fields[:end] if field]
