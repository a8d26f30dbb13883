"""Match an earlier model with new data, by label and by feature index, for ``mpu train --warm-start``."""

import math
from pathlib import Path
from typing import Any

import numpy as np

from mpu_cli import bundle
from mpu_cli.core.loss import DEFAULT, LOSSES, loss_named
from mpu_cli.core.model.stacking import StackedModel
from mpu_cli.core.select.warm_start import WarmStart
from mpu_cli.core.solver.sgd import Settings
from mpu_cli.errors import ModelError


def match(path: Path, levels: int | None, occurring: np.ndarray, ids: np.ndarray) -> tuple[WarmStart, dict[str, int]]:
    """Read a model and match it with new data.

    Parameters
    ----------
    path : Path
        The model.
    levels : int or None
        Of the training that starts from it; None: any number.
    occurring : ndarray of int
        The features that occur in the new data, ascending.
    ids : ndarray of int, shape (q,)
        The labels of the new data, as written in files, ascending.

    Returns
    -------
    start : WarmStart
    counts : dict
        How many labels and features are shared, new, and vanished.

    Raises
    ------
    ModelError
        There is no model, or it is damaged, of another method or another number of levels, or has no label or no
        feature in common with the data.
    """
    model = bundle.load(path)
    old = model.predictor
    if model.method != "mpu":
        raise _refused(path, f"is a model of --method {model.method}, not mpu")
    if not isinstance(old, StackedModel):  # its manifest is not the one that was written
        raise _refused(path, "has no levels")
    if levels is not None and len(old.levels) != levels:
        raise _refused(path, f"has --levels {len(old.levels)}, and this training {levels}")
    columns = np.searchsorted(model.label_ids, ids).clip(max=len(model.label_ids) - 1)
    columns = np.where(model.label_ids[columns] == ids, columns, -1)
    shared = int((columns >= 0).sum())
    known = len(np.intersect1d(occurring, model.occurring.indices, assume_unique=True))
    if not shared:
        raise _refused(path, "has no label in common with the data")
    if not known:
        raise _refused(path, "has no feature in common with the data")
    counts = {
        "labels_shared": shared,
        "labels_new": len(ids) - shared,
        "labels_vanished": len(model.label_ids) - shared,
        "features_shared": known,
        "features_new": len(occurring) - known,
        "features_vanished": len(model.occurring.indices) - known,
    }
    return WarmStart(old, columns, _settings(path, model.options)), counts


def _settings(path: Path, options: dict) -> Settings:
    """Return C, eta0 and the weight of label features that a model was trained with, from its record."""
    loss = options.get("loss", DEFAULT)
    if loss not in LOSSES:
        raise _refused(path, "does not tell the loss that it was trained with")
    cost: Any = options.get("cost")
    step: Any = options.get("step") if loss_named(loss).has_step else Settings.step
    for value in (cost, step):
        if not isinstance(value, float | int) or not math.isfinite(value) or value <= 0:
            raise _refused(path, "does not tell the C and the step size that it was trained with")
    prior: Any = options.get("prior")  # a word, or None, where there were no features of labels
    is_weight = isinstance(prior, float | int) and 0 <= prior < math.inf
    return Settings(float(cost), float(step), prior=float(prior) if is_weight else 0.0, loss=loss)


def _refused(path: Path, problem: str) -> ModelError:
    return ModelError(f"{path}: {problem}, so there is nothing to start from; train without --warm-start")
