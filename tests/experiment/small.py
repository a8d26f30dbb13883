"""A small experiment: what tests of it share."""

import joblib
import numpy as np

from mpu_cli.core.options import Descent, Options
from mpu_cli.experiment import cell
from mpu_cli.experiment.design import Design, Method
from mpu_cli.experiment.results import Row
from mpu_cli.svmlight.dataset import Dataset
from tests.core.simulated import as_features, as_labels, linear_problem

QUICK = {"cost": 10.0, "epochs": 2, "folds": 2}
BR = Method("br", "br", Descent(**QUICK))
MPU = Method("mpu:c=0.5", "mpu", Options(**QUICK, c=0.5))
DESIGN = Design((BR, MPU), (0.0, 0.5), (60,), folds=3, run_folds=3)


def problem(n: int = 60, D: int = 5, q: int = 4) -> Dataset:
    X, Y = linear_problem(n, D, q)
    return Dataset(as_labels(Y), as_features(X))


def run_cell(design: Design, data: Dataset, which: int, folder, c: float | None = None) -> list[Row]:
    """Run one cell in this process."""
    path = folder / "data"
    joblib.dump(data, path)
    chosen = design.cells()[which]
    method = next(method for method in design.methods if method.label == chosen.method)
    return cell.run(cell.Task(chosen, method, design, "small", path, kernel=None, c=c))


def row(method="br", rate=0.0, fold=0, instances=60, rule="own", error="", seconds=1.0, f1=0.5) -> Row:
    if error:
        return Row("small", method, rule, rate, fold, instances, error=error)
    metrics = {"micro_f1": f1, "macro_f1": f1 / 2}
    return Row("small", method, rule, rate, fold, instances, metrics, seconds, 0.125, 10**8, 1.0)


def dense(labels) -> np.ndarray:
    return labels.toarray()
