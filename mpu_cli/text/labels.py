"""Labels that are texts, and their numbers."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from mpu_cli.errors import InputError
from mpu_cli.names.name_files import read_names, uri_of, without_brackets
from mpu_cli.names.naming import is_kept

_MOST_NUMBERS = 10**7


class Labels:
    """Labels by their names: label k is ``names[k - 1]``.

    Parameters
    ----------
    names : iterable of sequence of str
        The names of each label, the main one first; empty for a number without a label. One of them may be a URI.
    broader : mapping
        The numbers of the broader labels of each label that has some.
    deprecated : iterable of sequence of str
        The names of concepts that are labels only where a record has them, and are not suggested.

    Attributes
    ----------
    shared : int
        Number of labels with the main name of an earlier one, and no other URI. They are the same label, so their own
        numbers have no name.
    deprecated : list of int
        Labels that are deprecated.
    """

    def __init__(
        self,
        names: Iterable[Sequence[str]] = (),
        broader: Mapping[int, tuple[int, ...]] | None = None,
        deprecated: Iterable[Sequence[str]] = (),
    ) -> None:
        self.deprecated: list[int] = []
        self._deprecated = {name: tuple(of_one) for of_one in deprecated for name in of_one}
        self.broader = broader or {}
        self.names: list[tuple[str, ...]] = []
        self.shared = 0
        self._numbers: dict[str, int] = {}
        others: dict[str, int] = {}
        for number, of_label in enumerate(map(tuple, names), 1):
            same = self._numbers.get(of_label[0]) if of_label else None
            if same is not None and uri_of(of_label) == uri_of(self.names[same - 1]):
                self.shared += 1
                self.names.append(())
                continue
            self.names.append(of_label)
            if of_label:
                self._numbers.setdefault(of_label[0], number)
                for other in of_label[1:]:
                    others.setdefault(other, number)
        self._numbers = others | self._numbers  # a main name wins over further names of other labels

    def __len__(self) -> int:
        return len(self.names)

    def number(self, name: str) -> int | None:
        """Return the number of the label that has this name, or None."""
        number = self._numbers.get(name)
        return self._numbers.get(without_brackets(name)) if number is None else number

    def add(self, name: str) -> int:
        """Add a label after the others, and return its number."""
        name = without_brackets(name)
        of_label = self._deprecated.get(name, (name,))
        self.names.append(of_label)
        for one in of_label:
            self._numbers.setdefault(one, len(self.names))
        if name in self._deprecated:
            self.deprecated.append(len(self.names))
        return len(self.names)

    def under(self, broader: Mapping[int, tuple[int, ...]]) -> "Labels":
        """Return the same labels with broader ones."""
        return Labels(self.names, broader)

    def lines(self) -> str:
        """Return the text of a file of names: line k has the names of label k, separated by tabs."""
        return "".join("\t".join(of_label) + "\n" for of_label in self.names)


def read_labels(source: str | Path) -> Labels:
    """Read a file of names, as `names.name_files` has them; labels count from 1.

    Parameters
    ----------
    source : str or Path
        UTF-8 text, plain or compressed; ``-`` is standard input.

    Raises
    ------
    InputError
        It cannot be read, or names label 0, or a label far beyond the number of names.
    """
    names, _ = read_names(source, never_numbered=is_kept(source))
    most = max(names)
    if 0 in names or most > _MOST_NUMBERS:
        number = 0 if 0 in names else most
        raise InputError(
            str(source), None, f"names label {number}; here labels are numbers from 1 to {_MOST_NUMBERS:,}"
        )
    return Labels(names.get(number, ()) for number in range(1, most + 1))


def confusable(names: Iterable[str]) -> list[tuple[str, str]]:
    """Return pairs of names that differ only by blanks or letter case."""
    first: dict[str, str] = {}
    pairs = []
    for name in names:
        other = first.setdefault(" ".join(name.casefold().split()), name)
        if other != name:
            pairs.append((other, name))
    return pairs
