"""The values of a review file: numbers of instances, labels, verdicts and sources, as text and as numbers.

Here alone is decided how a label is written. All that is wrong with a value is a ValueError whose message says so.
"""

from collections.abc import Mapping

from mpu_cli.errors import DataError
from mpu_cli.runtime.ranges import MOST_INSTANCES
from mpu_cli.svmlight.grammar import MAX_ID

NOTHING_ELSE = -1  # the label of a decision on all labels that are not named
STAR = "*"
YES, NO = "yes", "no"
UNDECIDED = -1
SAMPLE, SUGGESTION = "sample", "suggestion"

_VERDICTS = {YES: 1, NO: 0, "": UNDECIDED}
_SOURCES = {SAMPLE: True, SUGGESTION: False, "": False}
_SHOWN = 40


def instance_number(text: str) -> int:
    """Return an instance from 0; they are written from 1."""
    number = _whole(text, MOST_INSTANCES)
    if not number:
        raise ValueError(f"instance {_quoted(text)} is no number of an instance; they count from 1")
    return number - 1


def label_number(text: str, numbers: Mapping[str, int] | None = None) -> int:
    """Return the label that is meant, `NOTHING_ELSE` by ``*``.

    Parameters
    ----------
    text : str
    numbers : mapping of str to int, optional
        The number of each label by its name, where labels are written by name. Default: they are numbers.
    """
    if text == STAR:
        return NOTHING_ELSE
    if numbers is not None:
        if text not in numbers:
            raise ValueError(f"there is no label called {_quoted(text)}")
        return numbers[text]
    number = _whole(text, MAX_ID)
    if number is None:
        raise ValueError(f"label {_quoted(text)} is no label; they are numbers as in the data, or * for all others")
    return number


def label_text(label: int, numbers: Mapping[str, int] | None = None) -> str:
    """Return how a label is written: the reverse of `label_number`."""
    if label == NOTHING_ELSE:
        return STAR
    if numbers is None:
        return str(label)
    return next(name for name, number in numbers.items() if number == label)


def names_by_number(numbers: Mapping[str, int]) -> dict[int, str]:
    """Return how each label is written, from their numbers by name.

    Raises
    ------
    DataError
        A name would not read back: it has a tab or the end of a line in it, spaces around it, or is ``*``.
    """
    for name in numbers:
        if name == STAR or name != name.strip() or len(f"{name}.".splitlines()) > 1 or "\t" in name:
            raise DataError(f"label {_quoted(name)} cannot be written by name to a review file; give it another name")
    return {number: name for name, number in numbers.items()}


def verdict_number(text: str) -> int:
    """Return 1 for yes, 0 for no, and `UNDECIDED`."""
    if text.lower() not in _VERDICTS:
        raise ValueError(f"verdict {_quoted(text)} is not one of yes, no and empty (not decided)")
    return _VERDICTS[text.lower()]


def is_sample_word(text: str) -> bool:
    """Whether a source says that the instance was drawn at random."""
    if text.lower() not in _SOURCES:
        raise ValueError(f"source {_quoted(text)} is not one of sample, suggestion and empty (not known)")
    return _SOURCES[text.lower()]


def _whole(text: str, most: int) -> int | None:
    digits = text if text.isascii() and text.isdigit() and len(text) <= len(str(most)) else ""
    return int(digits) if digits and int(digits) <= most else None


def _quoted(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "...")
