"""PECOS: XR-Linear, linear classifiers in a tree of labels, which it makes from the labels' positive instances."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from interface import main
from pecos.xmc import Indexer, LabelEmbeddingFactory
from pecos.xmc.xlinear.model import XLinearModel
from scipy.sparse import csr_matrix
from sklearn.datasets import load_svmlight_file

METHODS = ("xlinear",)


def read(path: Path) -> tuple[csr_matrix, list[tuple]]:
    """Read features and label sets."""
    features, label_sets = load_svmlight_file(path, multilabel=True, zero_based=True, dtype=np.float32)
    features.indices = features.indices.astype(np.int32)  # PECOS takes no others
    return features, label_sets


def train(_method: str, data: Path, model: Path) -> None:
    """Train on a file, as PECOS's own command does by default."""
    features, label_sets = read(data)
    columns = np.concatenate(label_sets).astype(np.int32)
    indptr = np.concatenate([[0], np.cumsum([len(labels) for labels in label_sets])])
    labels = csr_matrix((np.ones(len(columns), np.float32), columns, indptr), (features.shape[0], columns.max() + 1))
    labels.sort_indices()
    tree = Indexer.gen(LabelEmbeddingFactory.create(labels, features, method="pifa"))
    XLinearModel.train(features, labels.tocsc(), C=tree).save(str(model))


def rank(_method: str, model: Path, data: Path, labels: int) -> Iterator[Iterable[tuple[int, float]]]:
    """Rank the labels of a file."""
    learned = XLinearModel.load(str(model), is_predict_only=True)
    features, _ = read(data)
    features.resize(features.shape[0], learned.model.nr_features)
    found = learned.predict(features, only_topk=labels)
    for start, end in zip(found.indptr[:-1], found.indptr[1:], strict=True):
        order = np.argsort(-found.data[start:end], kind="stable")
        yield zip(found.indices[start:end][order].tolist(), found.data[start:end][order].tolist(), strict=True)


if __name__ == "__main__":
    main(METHODS, train, rank=rank)
