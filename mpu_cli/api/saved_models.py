"""Saved models as scikit-learn estimators."""

import os
from pathlib import Path

import numpy as np

from mpu_cli import bundle, methods
from mpu_cli.api import parameters
from mpu_cli.api.estimator import MPUClassifier


def load(path: str | os.PathLike[str], *, numbers: bool = False) -> MPUClassifier:
    """Read a model that `MPUClassifier.save` or `mpu train` has written.

    Parameters
    ----------
    path : str or path
        The directory.
    numbers : bool
        Whether labels are called by number also where the model knows their names.

    Returns
    -------
    MPUClassifier
        Fitted. `classes_` are the names of its labels, or else their numbers, in ascending order of the numbers, and
        the columns of predictions are in that order; labels that nothing is known of are not among them. Where two
        labels have one name, it is followed by the number of the label. `predict` returns a sparse matrix
        (`sparse_output_`). Its parameters are those of the training as far as the directory tells: c, cost and epochs
        are what was used.

    Raises
    ------
    MpuError
        There is no model, or it is damaged, or was written by a newer version.
    """
    model = bundle.load(Path(path))
    known = {  # None: auto
        name: model.options[name]
        for name in parameters.DECLARED
        if model.options.get(name) is not None and model.method in methods.owners(name)
    }
    classifier = MPUClassifier(**{**known, "method": model.method})
    classifier.n_features_in_ = model.predictor.n_features
    return classifier._become(model, np.arange(len(model.label_ids)), model.shown_labels(numbers), sparse=True)
