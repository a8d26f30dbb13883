"""Missing labels found from all evidence: features, other labels, answers and decisions."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.evidence import Evidence
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.labels.implications import Implications
from mpu_cli.core.labels.problem import Problem
from mpu_cli.core.labels.verified import Verdict
from mpu_cli.core.predictions import Cells, Predictions
from mpu_cli.people.claims import Claims, Decided
from mpu_cli.people.other_labels import given_other_labels
from mpu_cli.people.suggestions import (
    Choice,
    Count,
    FillingIn,
    missing_labels,
    no_fewer,
    posterior_at,
    suggest,
    worth_filling_in,
)
from mpu_cli.runtime.run import DEFAULT_RUN, Run


@dataclass(frozen=True, kw_only=True)
class Suggestions:
    """Missing labels of data."""

    # ndarray or csr_array of float32, shape (n, q): Pr(y=1) of each label from the features, out of fold, and, if
    # labels are few, from the other annotations
    probabilities: Predictions
    ids: np.ndarray  # int, shape (q,): the label of each column
    annotated: csr_array  # bool, shape (n, q): annotated or verified as true, and not verified as false
    confirmed: csr_array  # bool, shape (n, q): true but not annotated: verified, or filled in before
    frequency: LabelFrequency
    # `of_labels`, `of_all`: numbers of missing labels, of each label and in total; None if c is unknown
    of_labels: Count | None
    of_all: Count | None
    found: int  # how many of these are verified as true
    listed: Cells  # the suggestions, the most probable first
    right: Count  # how many of these are right
    filling_in: FillingIn  # how many of these to fill in
    decided: Decided | None  # decisions on earlier suggestions, by which probabilities are corrected
    answers: int  # answers to questions, on which probabilities and counts rest


def find(
    evidence: Evidence,
    problem: Problem,
    ids: np.ndarray,
    choice: Choice,
    implications: Implications | None = None,
    run: Run = DEFAULT_RUN,
) -> Suggestions:
    """List missing labels.

    `problem`: features are not needed. Verified cells are not listed again.
    `ids`: int, shape (q,): the label, as written in files, of each column; ascending.
    `choice`: as for `suggest`.
    `implications`: labels implied by others of the instance are not listed.
    """
    labels, frequency, estimates = problem.labels, evidence.frequency, evidence.estimates
    positive = frequency.positives(labels).astype(bool)
    implied = None if implications is None else implications.implied(positive, ids, ids)
    with run.step("weighing the other labels"):
        probabilities = given_other_labels(evidence.probabilities, labels, frequency, run, evidence.kin)
    confirmed = csr_array(positive > labels)
    found = confirmed if frequency.verified is None else confirmed[frequency.verified.instances == Verdict.UNKNOWN]
    with run.step("listing labels"):
        of_labels, of_all = missing_labels(labels, frequency, estimates.reviewed, estimates.range_of_c)
        left = Count(*(max(count - found.nnz, 0.0) for count in vars(of_all).values()))
        second = np.zeros(0, int) if problem.second is None else problem.second
        annotated = positive.nnz - positive[second].nnz
        if choice == Choice():  # half of the F1 before
            choice = replace(choice, least=annotated / max(2 * annotated + left.expected, 1))
        claims = Claims.of(probabilities, problem, evidence, choice, implied)
        at_top, is_by_lists = claims.at_top, estimates.reviewed is None and claims.at_top is not None
        if estimates.is_known and at_top is not None:
            if is_by_lists:
                left = no_fewer(left, at_top, claims.decided is not None)
            if at_top.expected > left.expected:
                every = suggest(probabilities, positive, frequency, Choice(), implied)
                claims = claims.adding_up_to(float(left.expected), every.probabilities)
        listed = suggest(probabilities, positive, frequency, choice, implied, claims.corrected)
        right = claims.expected_right(posterior_at(probabilities, frequency, listed.rows, listed.columns))
        if estimates.is_known:
            if is_by_lists and claims.decided is not None:  # the right ones of the list are missing
                left = replace(left, low=max(left.low, min(right.low, left.expected)))
            if is_by_lists:
                of_all = Count(*(count + found.nnz for count in vars(left).values()))
            # Before any decision c may be wrong, so it does not limit how many of a list may be right.
            most = np.inf if is_by_lists and claims.decided is None else left.high
            limits = left.expected, left.low, most
            right = Count(*map(min, vars(right).values(), limits))
        filling_in = worth_filling_in(listed, annotated, float(left.expected))
    return Suggestions(
        probabilities=probabilities,
        ids=ids,
        annotated=positive,
        confirmed=confirmed,
        frequency=frequency,
        of_labels=of_labels if estimates.is_known else None,
        of_all=of_all if estimates.is_known else None,
        found=found.nnz,
        listed=listed,
        right=right,
        filling_in=filling_in,
        decided=claims.decided,
        answers=0 if estimates.reviewed is None else estimates.reviewed.answers,
    )
