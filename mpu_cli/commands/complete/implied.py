"""Files of labels that imply others: a line for each pair, ``narrower broader``, with ``#`` comments."""

from functools import partial
from pathlib import Path

from mpu_cli.core.side.implications import Implications
from mpu_cli.errors import InputError
from mpu_cli.names import LabelNames
from mpu_cli.names.label_names import is_number, label_of
from mpu_cli.svmlight.streams import open_input

_LINE_BYTES = 1 << 16  # two labels need far fewer; what has no line ends must not fill the memory
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
    with open_input(source) as stream:
        for number, line in enumerate(iter(partial(stream.readline, _LINE_BYTES), b""), 1):
            fields = _fields(line.decode("utf-8-sig" if number == 1 else "utf-8", "replace"))
            if not fields or (not pairs and [field.lower() for field in fields] == _HEADER):
                continue
            if len(fields) != 2 or (names is None and not all(map(is_number, fields))):
                raise InputError(
                    str(source),
                    number,
                    "expected two labels, the narrower and the broader one, such as: 12 7"
                    + ("; names of labels are known by --labels" if names is None else "; between names, put a tab"),
                )
            try:
                pairs.append((label_of(fields[0], names), label_of(fields[1], names)))
            except ValueError as error:
                raise InputError(str(source), number, str(error)) from None
    return Implications(pairs)


def _fields(line: str) -> list[str]:
    plain = line.partition("#")[0].split()
    if "\t" not in line.strip() or not plain or all(map(is_number, plain)):
        return plain
    fields = [field.strip() for field in line.split("\t")]
    end = next((i for i, field in enumerate(fields) if field.startswith("#")), len(fields))
    return [field for field in fields[:end] if field]
