"""Which cells to ask people about: questions drawn by chance, by a model of annotated against not annotated."""

from mpu_cli.core.data.answers import Answers
from mpu_cli.core.data.features import Features
from mpu_cli.core.data.limits import refuse_large_sample, refuse_too_large
from mpu_cli.core.data.problem import Problem, Rows
from mpu_cli.core.frequency.estimators import estimate, tells
from mpu_cli.core.frequency.label_frequency import count_annotations
from mpu_cli.core.frequency.questions import Questions, draw
from mpu_cli.core.options import Validation
from mpu_cli.core.select.sample import Sample, draw_labels, usual_folds
from mpu_cli.errors import DataError
from mpu_cli.runtime.run import Run


def draw_questions(problem: Problem, n: int, validation: Validation, run: Run) -> Questions:
    """Draw at most n questions, by `core.frequency.questions.draw`; what is verified is not asked.

    Raises
    ------
    DataError
        Nothing is annotated but in complete label sets.
    TooLargeError
        The data do not fit in memory.
    """
    q = problem.labels.shape[1]
    refuse_too_large(problem.features.shape[1], q, levels=1)
    labels = draw_labels(count_annotations(problem.labels), run.seed)
    refuse_large_sample(min(len(problem), validation.sample), q if labels is None else len(labels.columns))
    rows = Rows(Features.of(problem.features, empty=run.empty), problem.labels, verified=problem.verified)
    sample = Sample(rows, validation.sample, validation.folds or usual_folds(len(problem), q), run, labels)
    if not tells(sample.labels, sample.verified):
        raise DataError("nothing is annotated but in complete label sets, so that nothing tells what to ask")
    with run.step("out-of-fold predictions", sample.m) as tick:
        probabilities = sample.naive_probabilities(tick)
    answered = sample.answered(probabilities, Answers.none() if problem.answers is None else problem.answers)
    truth = None
    if len(answered.answers):
        truth = answered.fit(estimate(probabilities, sample.labels, verified=sample.verified).c).truth
    return answered.of_all(draw(answered.cells, n, run.seed, truth))
