"""LibMultiLabel's linear methods: LIBLINEAR's support vector machine, one a label or in a tree of labels."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from interface import main
from libmultilabel import linear

# Training function, LIBLINEAR's options, and the value from which a label is predicted: of the decision function, or a
# probability. The options: defaults, those of its example, and the better C of 1 and 10 on the first 9,000 instances.
METHODS = {
    "1vsrest": (linear.train_1vsrest, "", 0.0),
    "1vsrest-c10": (linear.train_1vsrest, "-s 1 -c 10", 0.0),
    "tree": (linear.train_tree, "", 0.5),
    "tree-example": (linear.train_tree, "-s 2 -B 1 -e 0.0001", 0.5),
}
BATCH = 256  # instances, LibMultiLabel's default


def train(method: str, data: Path, model: Path) -> None:
    """Train on a file."""
    preprocessor = linear.Preprocessor()
    training = preprocessor.fit_transform(linear.load_dataset("svm", str(data)))["train"]
    function, options, _ = METHODS[method]
    learned = function(training["y"], training["x"], options=options, verbose=False)
    linear.save_pipeline(str(model), preprocessor, learned)


def values(model: Path, data: Path) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Give the ids of all labels and their values for each instance of a file."""
    preprocessor, learned = linear.load_pipeline(str(model / "linear_pipeline.pickle"))
    features = linear.load_dataset("svm", test_path=str(data))["test"]["x"]
    for start in range(0, features.shape[0], BATCH):
        for row in learned.predict_values(features[start : start + BATCH]):
            yield preprocessor.label_mapping, row


def predict(method: str, model: Path, data: Path) -> Iterable[Iterable[int]]:
    """Predict a file."""
    _, _, threshold = METHODS[method]
    return (ids[row > threshold].tolist() for ids, row in values(model, data))


def rank(method: str, model: Path, data: Path, labels: int) -> Iterator[Iterable[tuple[int, float]]]:
    """Rank the labels of a file; the tree gives those that its search has not reached 0, and they are left out."""
    function, _, _ = METHODS[method]
    for ids, row in values(model, data):
        top = np.argpartition(-row, min(labels, len(row) - 1))[:labels]
        top = top[np.argsort(-row[top], kind="stable")]
        if function is linear.train_tree:
            top = top[row[top] > 0]
        yield zip(ids[top].tolist(), row[top].tolist(), strict=True)


if __name__ == "__main__":
    main(METHODS, train, predict=predict, rank=rank)
