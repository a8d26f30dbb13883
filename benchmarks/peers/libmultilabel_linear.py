"""LibMultiLabel's linear methods: LIBLINEAR's support vector machine, one a label or in a tree of labels."""

from collections.abc import Iterable
from pathlib import Path

from interface import main
from libmultilabel import linear

# Training function, and the value from which a label is predicted: of the decision function, or a probability.
METHODS = {"1vsrest": (linear.train_1vsrest, 0.0), "tree": (linear.train_tree, 0.5)}
BATCH = 256  # instances, LibMultiLabel's default


def train(method: str, data: Path, model: Path) -> None:
    """Train on a file."""
    preprocessor = linear.Preprocessor()
    training = preprocessor.fit_transform(linear.load_dataset("svm", str(data)))["train"]
    function, _ = METHODS[method]
    linear.save_pipeline(str(model), preprocessor, function(training["y"], training["x"], verbose=False))


def predict(method: str, model: Path, data: Path) -> Iterable[Iterable[int]]:
    """Predict a file."""
    preprocessor, learned = linear.load_pipeline(str(model / "linear_pipeline.pickle"))
    features = linear.load_dataset("svm", test_path=str(data))["test"]["x"]
    _, threshold = METHODS[method]
    for start in range(0, features.shape[0], BATCH):
        for values in learned.predict_values(features[start : start + BATCH]):
            yield preprocessor.label_mapping[values > threshold].tolist()


if __name__ == "__main__":
    main(METHODS, train, predict)
