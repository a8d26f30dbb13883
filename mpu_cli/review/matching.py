"""Matching people's decisions, and suggestions to people, with the data that they are about."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.problem import Answers, HowDecided, VerifiedLabels, widened
from mpu_cli.errors import InputError, abridged, counted, shown
from mpu_cli.names.label_names import NAMELESS, LabelNames
from mpu_cli.review.decisions import NOTHING_ELSE, Decisions, checksum
from mpu_cli.svmlight.reader import Dataset
from mpu_cli.svmlight.streams import Source


@dataclass(frozen=True, kw_only=True)
class ReviewCounts:
    """Counts of the decisions in review files."""

    decisions: int  # Decisions, one for each cell.
    found: int  # Labels that are true and were not annotated.
    refuted: int  # Annotated labels that are false.
    unused: int  # Decisions on labels that are true for no instance.
    new_labels: list[int]  # Labels that were verified as true, and are annotated for no instance.
    closed: int  # Instances whose label set is complete.
    sampled: int  # How many of them were drawn at random.
    skipped: tuple[int, int] | None = None  # Questions that are open between answered ones, and these; None: none is.

    def cautions(self, names: LabelNames = NAMELESS) -> list[str]:
        """Return warnings about possible mistakes in a review; `names`: the names of the labels."""
        cautions = []
        if self.new_labels:
            texts = [names.shown(label) for label in self.new_labels[:5]]
            cautions.append(
                f"the review has {counted(len(self.new_labels), 'new label')}, annotated nowhere: "
                f"{abridged(texts, len(self.new_labels))}; learned from the review"
            )
        if self.unused:
            cautions.append(
                f"{counted(self.unused, 'decision')} 'no' on a label that is true nowhere; are these numbers right?"
            )
        if self.skipped is not None:
            left, answered = self.skipped
            cautions.append(
                f"{counted(left, 'question')} {'is' if left == 1 else 'are'} open between the {answered:,} answered "
                "ones, and c is wrong if people chose which to answer: answer the open ones too, or delete the answers "
                "below the first open one"
            )
        return cautions


@dataclass(frozen=True, kw_only=True)
class Reviewed:
    """The changes to training data from decisions, by field: `verified` and the fields below are as in `Problem`."""

    labels: csr_array  # bool, shape (n, q): annotated labels; column k is label ``ids[k]``
    ids: np.ndarray  # int, shape (q,): labels that are annotated, or decided to be true, at least once, ascending
    review: ReviewCounts
    verified: VerifiedLabels
    sampled: np.ndarray | None
    answers: Answers | None
    origins: csr_array


def match(decisions: Decisions, data: Dataset, source: Source, also: Sequence[int] = ()) -> Reviewed:
    """Match decisions with data. Labels that they found missing, and that have been added since, are not annotations.

    `source`: the file of the data, as the user named it.
    `also`: labels to which decisions apply even if they are never true.
    Raises InputError (a review file has the checksum of other data, or an instance that does not exist in the data).
    """
    n = len(data)
    _refuse_other_data(decisions, data, source)
    whole = decisions.label == NOTHING_ELSE
    annotated, annotated_ids = data.occurring_labels()
    decided = decisions.label[decisions.verdict | np.isin(decisions.label, np.array(also, int))]
    ids = np.union1d(annotated_ids, decided).astype(annotated_ids.dtype)
    labels = widened(annotated, annotated_ids, ids)
    has_column = np.isin(decisions.label, ids)
    column = np.searchsorted(ids, decisions.label)
    is_annotated = decisions.are_among(data.labels)
    was_missing = ~np.isnan(np.fmax(decisions.chance, decisions.probability)) | (decisions.origin == HowDecided.ADDED)
    added = is_annotated & decisions.verdict & was_missing
    labels = csr_array(labels > csr_array((added[added], (decisions.instance[added], column[added])), labels.shape))
    is_annotated &= ~added
    kinds = decisions.verdict, has_column & ~decisions.verdict
    yes, no = ((decisions.instance[kind], column[kind]) for kind in kinds)
    verified = VerifiedLabels.of((n, len(ids)), true=yes, false=no, complete=decisions.instance[whole])
    complete = decisions.instance[whole & decisions.is_sample]
    counts = ReviewCounts(
        decisions=len(decisions),
        found=int(np.count_nonzero(decisions.verdict & ~is_annotated)),
        refuted=int(np.count_nonzero(is_annotated & ~decisions.verdict)),
        unused=int(np.count_nonzero(~has_column & ~whole)),
        new_labels=np.setdiff1d(decisions.label[decisions.verdict], annotated_ids).tolist(),
        closed=int(np.count_nonzero(verified.instances)),
        sampled=len(complete),
        skipped=decisions.skipped,
    )
    asked = has_column & ~is_annotated & ~np.isnan(decisions.chance)
    answers = Answers(decisions.instance[asked], column[asked], decisions.verdict[asked])
    known = has_column & (decisions.origin != HowDecided.UNKNOWN)
    origins = csr_array((decisions.origin[known], (decisions.instance[known], column[known])), shape=labels.shape)
    return Reviewed(
        labels=labels,
        ids=ids,
        review=counts,
        verified=verified,
        sampled=complete if len(complete) else None,
        answers=answers if len(answers) else None,
        origins=origins,
    )


def suggestions_of(listed: Decisions, data: Dataset, source: str | Path) -> Decisions:
    """Return the lines of a review file without a decision, for labels that are not annotated; each cell once.

    Returns: instances in the order of the file, labels with the most probable first, but questions in that of the file.
    Raises InputError (the file does not belong to the data).
    """
    _refuse_other_data(listed, data, source)
    left = listed[~listed.is_decided & (listed.label != NOTHING_ELSE)]
    left = left[np.sort(np.unique(left.cells(), return_index=True)[1])]
    _, first, group = np.unique(left.instance, return_index=True, return_inverse=True)
    shown = np.where(np.isnan(left.chance), np.nan_to_num(left.probability), 0.0)
    left = left[np.lexsort((-shown, first[group]))]
    return left[~left.are_among(data.labels)]


def _refuse_other_data(decisions: Decisions, data: Dataset, source: Source) -> None:
    """Raise InputError if a file has the checksum of other data, or an instance that does not exist in the data."""
    own = checksum(data.features) if any(decisions.checksums) else None
    for file, theirs in zip(decisions.files, decisions.checksums, strict=True):
        if theirs and theirs != own:
            raise InputError(
                file,
                f"it was made for other data than {shown(source)}, or for the same before instances or features "
                "changed (its checksum differs), so its numbers may mean other instances; give its own data, or remove "
                "the column instance if there are ids, or the line '# checksum ...' if you know that the numbers are "
                "right",
            )
    if len(beyond := np.flatnonzero(decisions.instance >= len(data))):
        i = beyond[0]
        last = f"the last of {shown(source)} is {len(data)}"
        problem = f"there is no instance {decisions.instance[i] + 1}: {last}; was this file made for another one?"
        raise decisions.error(i, problem)
