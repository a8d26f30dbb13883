"""What is missing from data, found by all that is known: features, other labels, answers and decisions."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.evidence import Evidence
from mpu_cli.core.frequency.label_frequency import LabelFrequency
from mpu_cli.core.labels.implications import Implications
from mpu_cli.core.labels.problem import Problem
from mpu_cli.core.predictions import Predictions
from mpu_cli.people.claims import Claims, Decided
from mpu_cli.people.other_labels import given_other_labels
from mpu_cli.people.posterior import posterior_at
from mpu_cli.people.suggestions import (
    Cells,
    Choice,
    Count,
    FillingIn,
    missing_labels,
    no_fewer,
    suggest,
    worth_filling_in,
)
from mpu_cli.runtime.run import DEFAULT_RUN, Run
from mpu_cli.runtime.steps import Step


@dataclass(frozen=True, kw_only=True)
class Suggestions:
    """Missing labels of data."""

    # ndarray or csr_array of float32, shape (n, q): how probable each label is by the features, out of fold, and of
    # few labels also by the other annotations
    probabilities: Predictions
    ids: np.ndarray  # int, shape (q,): the label of each column
    annotated: csr_array  # bool, shape (n, q): what is annotated or verified as true, without what is verified as false
    confirmed: csr_array  # bool, shape (n, q): what is true and not annotated: verified, or filled in before
    frequency: LabelFrequency
    # `of_labels`, `of_all`: how many labels are missing: of each, and of all together
    of_labels: Count
    of_all: Count
    listed: Cells  # the suggestions, the most probable first
    right: Count  # how many of these are right
    filling_in: FillingIn  # how many of these to fill in; none where none raises the expected F1
    decided: Decided | None  # what was decided of suggestions; probabilities are corrected by it
    answers: int  # answers to questions, which the probabilities and the counts go by


def find(
    evidence: Evidence,
    problem: Problem,
    ids: np.ndarray,
    choice: Choice,
    implications: Implications | None = None,
    run: Run = DEFAULT_RUN,
) -> Suggestions:
    """List what is missing.

    `problem`: perhaps without features. Verified cells are not listed again.
    `ids`: int, shape (q,): the label, as written in files, of each column; ascending.
    `choice`: as for `suggest`.
    `implications`: what labels of an instance imply is not listed.
    """
    labels, frequency = problem.labels, evidence.frequency
    positive = frequency.positives(labels).astype(bool)
    implied = None if implications is None else implications.implied(positive, ids, ids)
    with run.step(Step.OTHER_LABELS):
        probabilities = given_other_labels(evidence.probabilities, labels, frequency, run, evidence.kin)
    reviewed = evidence.reviewed if evidence.reviewed and evidence.reviewed.answers else None
    with run.step(Step.LIST):
        range_of_c = evidence.estimates.range_of_c
        of_labels, of_all = missing_labels(labels, frequency, evidence.reviewed, range_of_c)
        missing = float(of_all.expected)
        second = np.zeros(0, int) if problem.second is None else problem.second
        annotated = positive.nnz - positive[second].nnz
        if choice == Choice():
            choice = replace(choice, least=annotated / max(2 * annotated + missing, 1))  # half of the F1 before
        claims = Claims.of(probabilities, problem, evidence, choice, implied)
        listed = suggest(probabilities, positive, frequency, choice, implied, claims.corrected)
        right = claims.expected_right(posterior_at(probabilities, frequency, listed.rows, listed.columns))
        estimates, is_decided = evidence.estimates, claims.decided is not None
        if estimates.is_known:
            if evidence.reviewed is None and claims.at_top is not None:
                of_all = no_fewer(of_all, claims.at_top, is_decided)
            right = Count(*map(min, vars(right).values(), vars(of_all).values()))
        filling_in = worth_filling_in(listed, annotated, missing)
    return Suggestions(
        probabilities=probabilities,
        ids=ids,
        annotated=positive,
        confirmed=csr_array(positive > labels),
        frequency=frequency,
        of_labels=of_labels,
        of_all=of_all,
        listed=listed,
        right=right,
        filling_in=filling_in,
        decided=claims.decided,
        answers=reviewed.answers if reviewed else 0,
    )
