"""Files of labels that imply others: a line for each pair, ``narrower broader``, with ``#`` comments."""

from functools import partial
from pathlib import Path

from mpu_cli.core.implications import Implications
from mpu_cli.errors import InputError
from mpu_cli.svmlight.grammar import MAX_ID
from mpu_cli.svmlight.streams import open_input

_LINE_BYTES = 1 << 16  # two labels need far fewer; what has no line ends must not fill the memory
_HEADER = [b"narrower", b"broader"]


def read_implications(source: str | Path) -> Implications:
    """Read which labels imply which: two columns, narrower and broader label, between them spaces or a tab.

    A first line that names the columns is passed over.

    Raises
    ------
    InputError
        The file cannot be read, or a line is not two labels.
    """
    pairs: list[tuple[int, int]] = []
    with open_input(source) as stream:
        for number, line in enumerate(iter(partial(stream.readline, _LINE_BYTES), b""), 1):
            fields = line.removeprefix(b"\xef\xbb\xbf").partition(b"#")[0].split()
            if not fields or (not pairs and [field.lower() for field in fields] == _HEADER):
                continue
            if len(fields) != 2 or not all(_is_label(field) for field in fields):
                raise InputError(
                    str(source), number, "expected two labels, the narrower and the broader one, such as: 12 7"
                )
            pairs.append((int(fields[0]), int(fields[1])))
    return Implications(pairs)


def _is_label(field: bytes) -> bool:
    return field.isdigit() and len(field) <= 18 and int(field) <= MAX_ID
