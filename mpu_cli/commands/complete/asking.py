"""Draw questions, the answers to which tell the label frequency: ``mpu complete --questions``."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mpu_cli.core.frequency import questions
from mpu_cli.core.options import Validation
from mpu_cli.core.select.sample import draw_questions
from mpu_cli.errors import InputError
from mpu_cli.review import decisions
from mpu_cli.review.tables import QUESTION
from mpu_cli.runtime.files import refuse_overlaps
from mpu_cli.runtime.report import Count
from mpu_cli.runtime.run import DEFAULT_RUN, Run
from mpu_cli.svmlight.streams import open_output, refuse_unwritable
from mpu_cli.training.assembly import training_set
from mpu_cli.training.training_data import Sources, TrainingData

_DESIGN = (
    "questions drawn by chance: drawn is the probability with which a cell was; labels by annotations^0.7, "
    "cells by r^{0:g} (1-r)^{1:g}, where r is the probability, of at least {2:g}",
    "probability is that of yes, {3}",
)


@dataclass(frozen=True, kw_only=True)
class Report:
    """What is asked.

    Attributes
    ----------
    questions : int
        How many cells are asked about; fewer than wanted where no more are worth it.
    instances, labels : int
        Of so many.
    answered : int
        Answers that there are already.
    """

    questions: Count
    instances: Count
    labels: Count
    answered: Count


def ask(
    sources: Sources,
    target: str | Path,
    n: int,
    *,
    validation: Validation,
    by_number: bool = False,
    run: Run = DEFAULT_RUN,
) -> Report:
    """Draw cells that are not annotated, and write them as a review file in which nothing is decided.

    Parameters
    ----------
    sources : Sources
        With reviews: cells answered there are not drawn again, and the answers say where others are most informative.
    target : str or Path
        Written as a whole or not at all; ``-`` is standard output.
    n : int
        How many questions.
    validation : Validation
        Folds and sample, as for `estimation.estimate`.
    by_number : bool
        Write numbers of labels also where names are known.
    run : Run
        Its seed draws the questions.

    Raises
    ------
    InputError
        A file cannot be read, or nothing is left to ask.
    MpuError
        The output cannot be written; TooLargeError where the data do not fit in memory.
    """
    refuse_overlaps(sources.by_option(), {"--output": target, "--cache": sources.cache})
    refuse_unwritable(target)
    with training_set(sources, run, method=None) as data:
        assert isinstance(data, TrainingData)  # not on a cluster
        checksum = data.problem_and_checksum(run, with_checksum=True)[1]
    drawn = draw_questions(data.problem, n, validation, run, data.scores)
    answered = 0 if data.answers is None else len(data.answers)
    if not len(drawn):
        raise InputError(str(sources.file), None, "nothing is left to ask: no cell may be a missing label")
    by = f"by {answered} answers" if answered else "if half of the labels are missing"
    design = (questions.OF_TRUE, questions.OF_FALSE, questions.LEAST, by)
    with open_output(target) as out:
        for line in _DESIGN:
            out.write(f"# {line.format(*design)}\n".encode())
        lines = decisions.Lines(
            drawn.rows,
            data.ids[drawn.columns],
            source=QUESTION,
            probability=drawn.probabilities,
            drawn=drawn.chance,
        )
        names = None if by_number else data.names
        decisions.write(out, lines, of=sources.file, checksum=checksum, names=names, ids=data.record_ids)
    size = [len(np.unique(of)) for of in (drawn.rows, drawn.columns)]
    return Report(questions=len(drawn), instances=size[0], labels=size[1], answered=answered)
