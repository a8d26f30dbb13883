"""A small experiment: what tests of it share."""

from dataclasses import asdict

from mpu_cli.experiment import cells
from mpu_cli.experiment.cells import Cell, Design, Row
from mpu_cli.svmlight.reader import Dataset
from tests.core.simulated import as_features, as_labels, linear_problem

QUICK = "cost=10:epochs=2:folds=2"
BR, MPU = f"br:{QUICK}", f"mpu:c=0.5:{QUICK}"
DESIGN = Design((BR, MPU), (0.0, 0.5), (60,), folds=3, run_folds=3)


def problem(n: int = 60, D: int = 5, q: int = 4) -> Dataset:
    X, Y = linear_problem(n, D, q)
    return Dataset(as_labels(Y), as_features(X))


def run_cell(design: Design, data: Dataset, which: int, c: float | None = None) -> Row:
    return cells.run_cell(design.cells()[which], design, data, "small", None, c)


def row(method="br", rate=0.0, fold=0, instances=60, error="", seconds=1.0, f1=0.5) -> Row:
    of = {"dataset": "small", **asdict(Cell(method, rate, fold, instances))}
    of |= {"seed": 0, "version": "1.0.0", "error": error}
    if error:
        return of
    return {**of, "micro_f1": f1, "macro_f1": f1 / 2, "fit_seconds": seconds, "predict_seconds": 0.125, "c": 1.0}
