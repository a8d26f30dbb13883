"""Out-of-fold predictions of a training, as a file of predictions."""

from pathlib import Path

import numpy as np

from mpu_cli.commands.predict.prediction import select
from mpu_cli.methods import Fitted
from mpu_cli.svmlight.streams import open_output
from mpu_cli.svmlight.writer import label_and_score_lines

_ROWS = 4096


def write_out_of_fold(target: str | Path, fitted: Fitted, ids: np.ndarray, n: int) -> None:
    """Write the labels and scores of the first n instances, in the form of ``mpu predict --format both``.

    Parameters
    ----------
    target : str or Path
        Written completely or not at all.
    fitted : Fitted
        With predictions of all instances out of fold.
    ids : ndarray of int64, shape (q,)
        The labels, as written in files.
    n : int
    """
    predictions, thresholds = fitted.out_of_fold, fitted.model.thresholds
    assert predictions is not None  # of a method that takes it
    everything = np.zeros(1, np.float32)
    with open_output(target) as out:
        for start in range(0, n, _ROWS):
            part = predictions[start : min(start + _ROWS, n)]
            rows, columns, values = select(part, everything, None, True)
            ends = np.searchsorted(rows, np.arange(part.shape[0] + 1))
            out.write(label_and_score_lines(ends, ids[columns], values, values >= thresholds[columns]))
