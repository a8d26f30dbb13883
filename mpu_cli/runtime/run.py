"""The context of a run: seed, threads, kernels, progress callbacks; and the steps that these are told.

Kernels are the inner loops: NumPy's, the reference, or compiled by numba (extra ``fast``). Two runs in one process do
not affect each other. A step of level k is called "level k" (from 0), and its predictions "level k, out of fold".
"""

import importlib
from dataclasses import dataclass
from enum import StrEnum
from types import ModuleType

from mpu_cli.errors import MpuError
from mpu_cli.runtime import machine
from mpu_cli.runtime.progress import Work


class Step(StrEnum):
    """A step by its name in the code, what messages and reports call it, and what it counts."""

    doing: str
    unit: str

    def __new__(cls, name: str, doing: str, unit: str = "step") -> "Step":
        """Make a member; its value is the name."""
        step = str.__new__(cls, name)
        step._value_, step.doing, step.unit = name, doing, unit
        return step

    READ = "read", "reading data"
    ESTIMATE_C = "estimate c", "estimating c"
    ESTIMATE_C_OF_EACH_LABEL = "estimate c of each label", "estimating c of each label"
    PLAN_QUESTIONS = "plan questions", "planning questions"
    CHOOSE_C = "choose C", "choosing settings", "setting"
    CHOOSE_FEATURES = "choose features", "choosing features", "kernel"
    CHOOSE_PRIOR = "choose prior", "choosing the weight of label features", "setting"
    CHOOSE_WEIGHTS_TO_DROP = "choose weights to drop", "choosing which weights to drop"
    SHORTLIST = "shortlist", "finding instances for each label"
    WITHOUT_TWO_FOLDS = "level 0, without two folds", "predicting level 0 without two folds"
    OUT_OF_FOLD = "out of fold", "predicting out of fold"
    OUT_OF_FOLD_WITH_WEIGHTS = "out of fold, with weights", "predicting out of fold with weights"
    THRESHOLDS = "thresholds", "choosing thresholds"
    TRAIN = "train", "learning"
    LEARN_ON_ONE_WORKER = "learn on one worker", "learning on one worker"
    FETCH_THE_SAMPLE = "fetch the sample", "fetching the sample"
    FETCH_FEATURES = "fetch features", "fetching features"
    FETCH_LABELS = "fetch labels", "fetching labels"
    CELLS = "cells", "training and testing", "cell"
    OTHER_LABELS = "other labels", "weighing the other labels"
    LIST = "list", "listing labels"
    TEST = "test", "testing the new model"
    TEST_EARLIER_MODELS = "test earlier models", "testing earlier models"
    WRITE = "write", "writing the model"
    FIND_LANGUAGES = "find languages", "finding the languages"
    READ_TEXTS = "read texts", "reading texts"
    WRITE_VECTORS = "write vectors", "writing vectors"


@dataclass(frozen=True)
class Run(Work):
    """The context of a command or of a call from Python.

    Raises MpuError (numba was requested and is not installed).
    """

    def __post_init__(self) -> None:
        if self.kernel == "numba" and not machine.numba_installed():
            raise MpuError("numba is not installed; install it with: pip install numba")

    def choose(self, reference: ModuleType, compiled: str) -> ModuleType:
        """Return a module of inner loops: the reference, or the compiled one of that name, which is imported here."""
        return importlib.import_module(compiled) if self.compiled else reference

    def on_a_worker(self) -> "Run":
        """Return what units of work elsewhere run with: one thread each, since many of them run at a time."""
        return Run(seed=self.seed, jobs=1, kernel="numba" if self.compiled else "numpy")


DEFAULT_RUN = Run()
