"""Labels that are texts, and their numbers."""

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

from mpu_cli.errors import InputError
from mpu_cli.svmlight.grammar import MAX_LINE_BYTES
from mpu_cli.svmlight.streams import open_input

_MOST_NAMES = 10**7


class Labels:
    """Labels by their names: label k is ``names[k - 1]``.

    Parameters
    ----------
    names : iterable of sequence of str
        The names of each label, the main one first; none for a number that is no label.

    Attributes
    ----------
    names : list of tuple of str
    shared : int
        How many labels were given that have the same main name as one before them. They are the same label, so their
        own numbers have no name.
    """

    def __init__(self, names: Iterable[Sequence[str]] = ()) -> None:
        self.names: list[tuple[str, ...]] = []
        self.shared = 0
        self._numbers: dict[str, int] = {}
        others: dict[str, int] = {}
        for number, of_label in enumerate(map(tuple, names), 1):
            if of_label and of_label[0] in self._numbers:
                self.shared += 1
                self.names.append(())
                continue
            self.names.append(of_label)
            if of_label:
                self._numbers[of_label[0]] = number
                for other in of_label[1:]:
                    others.setdefault(other, number)
        self._numbers = others | self._numbers  # a main name comes before further ones of other labels

    def __len__(self) -> int:
        return len(self.names)

    def number(self, name: str) -> int | None:
        """Return the number of the label that has this name, or None."""
        return self._numbers.get(name)

    def add(self, name: str) -> int:
        """Add a label after the others, and return its number."""
        self.names.append((name,))
        self._numbers[name] = len(self.names)
        return len(self.names)

    def lines(self) -> str:
        """Return the text of a file of names: line k has the names of label k, separated by tabs."""
        return "".join("\t".join(of_label) + "\n" for of_label in self.names)


def read_labels(source: str | Path) -> Labels:
    """Read a file of names: line k has the names of label k, separated by tabs, or is empty.

    Parameters
    ----------
    source : str or Path
        UTF-8 text, plain or compressed; ``-`` is standard input. Blanks around names are no part of them.

    Raises
    ------
    InputError
        It cannot be read.
    """
    names: list[list[str]] = []
    with open_input(source) as stream:
        for number, raw in enumerate(iter(partial(stream.readline, MAX_LINE_BYTES), b""), 1):
            if len(raw) == MAX_LINE_BYTES or number > _MOST_NAMES:
                raise InputError(str(source), number, "the line, or the file, is too long for names of labels")
            try:
                line = raw.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError:
                raise InputError(str(source), number, "this is not UTF-8 text; save the file as UTF-8") from None
            names.append([name.strip() for name in line.split("\t") if name.strip()])
    return Labels(names)


def confusable(names: Iterable[str]) -> list[tuple[str, str]]:
    """Return pairs of names that differ only by blanks, or by capital and small letters."""
    first: dict[str, str] = {}
    pairs = []
    for name in names:
        other = first.setdefault(" ".join(name.casefold().split()), name)
        if other != name:
            pairs.append((other, name))
    return pairs
