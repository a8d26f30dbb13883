"""Comparison with scikit-learn's OneVsRestClassifier, which takes a missing label for a negative.

python examples/one_vs_rest.py [DATA]      # DATA: directory of digits-train.svm and digits-test.svm
"""

import sys
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array
from sklearn.datasets import load_svmlight_files
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import MultiLabelBinarizer

from mpu_cli import MPUClassifier


def main(data: Path) -> None:
    """Print the micro-F1 on complete test labels of both, by the share of the training labels that is missing."""
    files = [str(data / f"digits-{part}.svm") for part in ("train", "test")]
    X, y, X_test, y_test = load_svmlight_files(files, multilabel=True, zero_based=True)
    binarizer = MultiLabelBinarizer().fit(y)
    Y, Y_test = binarizer.transform(y), binarizer.transform(y_test)
    rng = np.random.default_rng(0)
    print("missing  mpu    OneVsRest")
    for rate in (0.3, 0.6):
        S = Y * (rng.random(Y.shape) >= rate)
        mpu = MPUClassifier().fit(X, S)
        others = OneVsRestClassifier(LogisticRegression(C=10, max_iter=1000)).fit(csr_array(X), S)
        scores = [f1_score(Y_test, model.predict(X_test), average="micro") for model in (mpu, others)]
        print(f"{rate:>7.0%}  {scores[0]:.3f}  {scores[1]:.3f}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1] / "data")
