"""Write data in the shape of RCV1-v2 as LIBSVM files, a training and a test part, in bounded memory."""

from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import click
import numpy as np

from benchmarks.corpus import Corpus, Documents
from benchmarks.topics import TopicTree
from mpu_cli.svmlight.streams import open_output

TRAIN, TEST = 0, 1  # parts of a corpus
DECIMALS = 7
_TEXTS = 1 << 16  # of label sets that are kept
_ZERO, _COLON, _POINT, _SPACE = b"0:. "


def feature_text(columns: np.ndarray, values: np.ndarray) -> tuple[bytes, np.ndarray]:
    """Write `` index:value`` for each entry, indices from 1, values from 0 to 1 with `DECIMALS` decimals.

    Parameters
    ----------
    columns : int array, shape (nnz,)
    values : float array, shape (nnz,)

    Returns
    -------
    text : bytes
        The entries one after the other, each with a space before it.
    ends : ndarray, shape (nnz + 1,), int64
        Entry i is ``text[ends[i]:ends[i + 1]]``.
    """
    indices = columns + 1
    width = len(str(indices.max(initial=1)))
    units = np.rint(values * 10**DECIMALS).astype(np.int64)

    # All entries as rows of equal width, from which the zeros before an index are then left out.
    cells = np.empty((len(indices), width + DECIMALS + 4), np.uint8)
    cells[:, 0] = _SPACE
    _write_digits(cells[:, 1 : width + 1], indices)
    cells[:, width + 1] = _COLON
    _write_digits(cells[:, width + 2 : width + 3], units // 10**DECIMALS)
    cells[:, width + 3] = _POINT
    _write_digits(cells[:, width + 4 :], units)
    kept = np.ones(cells.shape, bool)
    for digits in range(1, width):
        kept[:, width - digits] = indices >= 10**digits
    return cells[kept].tobytes(), np.concatenate(([0], np.cumsum(kept.sum(axis=1))))


def _write_digits(cells: np.ndarray, numbers: np.ndarray) -> None:
    """Write the last digits of non-negative numbers, as many as there are columns."""
    for column in range(cells.shape[1] - 1, -1, -1):
        numbers, digit = np.divmod(numbers, 10)
        cells[:, column] = digit + _ZERO


def lines(documents: Documents, tree: TopicTree) -> Iterator[bytes]:
    """Write each document as a LIBSVM line."""

    @lru_cache(maxsize=_TEXTS)
    def label_text(one: int, other: int) -> bytes:
        return ",".join(map(str, np.unique(tree.paths[[one, other]]))).encode()

    features = documents.features
    text, ends = feature_text(features.indices, features.data)
    for drawn, (start, end) in zip(documents.drawn.tolist(), pairwise(ends[features.indptr].tolist()), strict=True):
        yield label_text(*drawn) + text[start:end] + b"\n"


def write(corpus: Corpus, part: int, instances: int, path: Path) -> None:
    """Write the first `instances` documents of a part of a corpus to a file, which appears when it is complete."""
    with open_output(path) as stream:
        for documents in corpus.chunks(instances, part):
            for line in lines(documents, corpus.tree):
                stream.write(line)


@click.command(context_settings={"help_option_names": ["-h", "--help"], "show_default": True})
@click.argument("prefix", type=click.Path(path_type=Path))
@click.option("--instances", type=click.IntRange(min=1), default=804_414, help="Training instances.")
@click.option("--test-instances", type=click.IntRange(min=1), default=20_000, help="Test instances.")
@click.option("--features", type=click.IntRange(min=200), default=47_236, help="Words in the vocabulary.")
@click.option("--labels", type=click.IntRange(min=1), default=101, help="Labels in the tree.")
@click.option("--seed", type=click.IntRange(min=0), default=0, help="The same seed gives the same files.")
def main(prefix: Path, instances: int, test_instances: int, features: int, labels: int, seed: int) -> None:
    """Write PREFIX-train.svm and PREFIX-test.svm, in the shape of RCV1-v2.

    A file with fewer instances is the beginning of one with more.

    \b
    Example:
      python -m benchmarks.generate /tmp/rcv1 --instances 20000
    """
    corpus = Corpus(features, labels, seed)
    write(corpus, TRAIN, instances, prefix.with_name(f"{prefix.name}-train.svm"))
    write(corpus, TEST, test_instances, prefix.with_name(f"{prefix.name}-test.svm"))


if __name__ == "__main__":
    main()
