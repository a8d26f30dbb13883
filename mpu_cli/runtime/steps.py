"""The steps of runs: of level k, "level k" (from 0) and, for its predictions, "level k, out of fold" join these."""

from enum import StrEnum


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
