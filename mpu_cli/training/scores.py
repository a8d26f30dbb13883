"""Out-of-fold scores of any classifier, from a file in the form of ``mpu predict --format scores``."""

import numpy as np

from mpu_cli.core.data.limits import refuse_large_predictions
from mpu_cli.errors import InputError, counted
from mpu_cli.evaluation.metrics import entry_rows
from mpu_cli.evaluation.score_files import iter_predictions
from mpu_cli.runtime.run import Run
from mpu_cli.svmlight.grammar import Reading


def read_scores(
    source: str, n: int, ids: np.ndarray, annotations: np.ndarray, *, reading: Reading, run: Run
) -> np.ndarray:
    """Read the scores of the labels of n instances.

    Parameters
    ----------
    source : str
        One line per instance. Labels that it does not list have score 0; labels and thresholds in it are not used.
    n : int
    ids : ndarray of int, shape (q,)
        The label of each column, ascending.
    annotations : ndarray of int, shape (q,)
        How many instances have it. Labels that none has need no scores.
    reading : Reading
    run : Run

    Returns
    -------
    ndarray of float32, shape (n, q)
        From 0 to 1.

    Raises
    ------
    InputError
        The file cannot be read, its instances are more or fewer, its labels are others, or a score is not from 0 to 1.
    TooLargeError
        The scores do not fit in memory.
    """

    def wrong(problem: str) -> InputError:
        return InputError(source, None, problem)

    refuse_large_predictions(n, len(ids))
    scores = run.empty((n, len(ids)), np.float32)
    scores[:] = 0
    scored = np.zeros(len(ids), bool)
    total = 0
    for chunk in iter_predictions(source, reading, run):
        part, start = chunk.features, total
        total += len(chunk)
        if total > n:
            continue
        rows, columns = entry_rows(part) + start, np.searchsorted(ids, part.indices).clip(max=len(ids) - 1)
        if len(strange := np.flatnonzero(ids[columns] != part.indices)):
            first = strange[0]
            raise wrong(f"instance {rows[first] + 1} has a score of label {part.indices[first]}, which FILE never has")
        if len(outside := np.flatnonzero(~((part.data >= 0) & (part.data <= 1)))):
            first = outside[0]
            raise wrong(
                f"instance {rows[first] + 1}: the score {part.data[first]:g} of label {part.indices[first]} is not "
                "from 0 to 1; take 1 / (1 + exp(-score)) of scores of a decision function"
            )
        scores[rows, columns] = part.data
        scored[columns] = True
    if total != n:
        raise wrong(
            f"has {counted(total, 'instance')}, and FILE has {n:,}; line k has the out-of-fold scores of instance k"
        )
    if len(without := ids[(annotations > 0) & ~scored]):
        raise wrong(f"no instance has a score of label {without[0]}, which FILE has; write label:score for each label")
    return scores
