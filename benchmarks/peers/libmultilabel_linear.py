"""LibMultiLabel's linear methods: LIBLINEAR's support vector machine, one a label or in a tree of labels."""

from collections.abc import Iterable
from pathlib import Path

from interface import main
from libmultilabel import linear

# Training function, LIBLINEAR's options, and the value from which a label is predicted: of the decision function, or a
# probability. The defaults, and the better of C = 1 and C = 10 on the first 9,000 instances.
METHODS = {
    "1vsrest": (linear.train_1vsrest, "", 0.0),
    "1vsrest-c10": (linear.train_1vsrest, "-s 1 -c 10", 0.0),
    "tree": (linear.train_tree, "", 0.5),
}
BATCH = 256  # instances, LibMultiLabel's default


def train(method: str, data: Path, model: Path) -> None:
    """Train on a file."""
    preprocessor = linear.Preprocessor()
    training = preprocessor.fit_transform(linear.load_dataset("svm", str(data)))["train"]
    function, options, _ = METHODS[method]
    learned = function(training["y"], training["x"], options=options, verbose=False)
    linear.save_pipeline(str(model), preprocessor, learned)


def predict(method: str, model: Path, data: Path) -> Iterable[Iterable[int]]:
    """Predict a file."""
    preprocessor, learned = linear.load_pipeline(str(model / "linear_pipeline.pickle"))
    features = linear.load_dataset("svm", test_path=str(data))["test"]["x"]
    _, _, threshold = METHODS[method]
    for start in range(0, features.shape[0], BATCH):
        for values in learned.predict_values(features[start : start + BATCH]):
            yield preprocessor.label_mapping[values > threshold].tolist()


if __name__ == "__main__":
    main(METHODS, train, predict)
