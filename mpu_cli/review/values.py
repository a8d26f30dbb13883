"""The values of a review file: numbers of instances, labels, verdicts and sources, as text and as numbers.

Only this module knows how a label is written. A wrong value is a ValueError with the reason.
"""

import math

from mpu_cli.names import LabelNames
from mpu_cli.names.cells import cell
from mpu_cli.names.label_names import is_number, label_of, quoted
from mpu_cli.names.lines import whole
from mpu_cli.runtime.options import MOST_INSTANCES

NOTHING_ELSE = -1  # the label of a decision on all other labels
STAR = "*"
YES, NO = "yes", "no"
UNDECIDED = -1
SAMPLE, SUGGESTION, QUESTION = "sample", "suggestion", "question"

_VERDICTS = {YES: 1, NO: 0, "": UNDECIDED}
_SOURCES = {SAMPLE: True, SUGGESTION: False, QUESTION: False, "": False}


def instance_number(text: str) -> int:
    """Return the number of an instance from 0; texts have it from 1, up to `MOST_INSTANCES`."""
    number = whole(text, MOST_INSTANCES)
    if not number:
        raise ValueError(f"instance {quoted(text)} is no number of an instance; they count from 1")
    return number - 1


def label_number(text: str, names: LabelNames | None = None) -> int:
    """Return the label of a number, or of a name if there are names; `NOTHING_ELSE` for ``*``."""
    if text == STAR:
        return NOTHING_ELSE
    if names is None and not is_number(text):
        raise ValueError(
            f"label {quoted(text)} is no label; they are numbers as in the data, or * for all others; names are known "
            "by --labels"
        )
    return label_of(text, names)


def label_text(label: int, names: LabelNames | None = None) -> str:
    """Return the text of a label: the reverse of `label_number`."""
    if label == NOTHING_ELSE:
        return STAR
    return str(label) if names is None else cell(names.written(label))


def verdict_number(text: str) -> int:
    """Return 1 for yes, 0 for no, and `UNDECIDED`."""
    if text.lower() not in _VERDICTS:
        raise ValueError(f"verdict {quoted(text)} is not one of yes, no and empty (not decided)")
    return _VERDICTS[text.lower()]


def chance(text: str, source: str) -> float:
    """Return the probability with which a question was drawn, above 0 up to 1; NaN where the source is another."""
    if source.strip().lower() != QUESTION:
        return math.nan
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 < number <= 1:
        raise ValueError(
            f"drawn {quoted(text)} is not the probability with which this question was drawn, a number above 0 up to "
            "1, as mpu complete --questions writes it; where it is lost, let the source be suggestion"
        )
    return number


def is_sample_word(text: str) -> bool:
    """Whether a source says that the instance was drawn at random."""
    if text.lower() not in _SOURCES:
        raise ValueError(f"source {quoted(text)} is not one of sample, suggestion, question and empty (not known)")
    return _SOURCES[text.lower()]
