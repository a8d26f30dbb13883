"""The directory beside a data file that was made of texts: ``news.text`` beside ``news.svm``.

It holds
- ``manifest.json``, ``features`` and ``idf.npy``: the vectoriser (`stored`); line j of ``features`` names feature j;
  where features are hashed, there is ``hashes.npy`` in its place;
- ``labels``: line k has the names of label k, separated by tabs, or is empty where k is no label;
- ``ids``: a line for each instance, its id; there is no such file where the records have none;
- ``label-features.svm``: the vectors of the names of labels, ``number index:value ...``, each of unit length.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.errors import STANDARD_STREAM, InputError, MpuError
from mpu_cli.names.beside import IDS, LABELS, folder_of
from mpu_cli.names.lines import as_a_file
from mpu_cli.runtime.urls import is_url
from mpu_cli.svmlight.dataset import Dataset
from mpu_cli.svmlight.writer import write_instances
from mpu_cli.text import stored
from mpu_cli.text.labels import Labels, read_labels
from mpu_cli.text.records import Fields

if TYPE_CHECKING:  # scikit-learn takes half a second, which work without texts need not wait for
    from mpu_cli.text.vectorizer import Vectorizer

LABEL_FEATURES = "label-features.svm"
_OURS = {stored.MANIFEST, stored.FEATURES, stored.HASHES, stored.IDF, LABELS, IDS, LABEL_FEATURES}


@dataclass(frozen=True)
class Known:
    """What an earlier file was made with."""

    vectorizer: "Vectorizer"
    labels: Labels
    fields: Fields


def directory_of(data: str | Path) -> Path | None:
    """Return the directory of a data file: ``data/news.text`` for ``data/news.svm.gz``; None for what is no file."""
    path = Path(data)
    if is_url(data) or str(data) == STANDARD_STREAM or (path.exists() and not (path.is_file() or path.is_dir())):
        return None
    return folder_of(data)


def made_with(data: str | Path) -> stored.Content | None:
    """Return which data file the directory beside one was made with; None where there is none, or it is damaged."""
    path = directory_of(data)
    if path is None or not (path / stored.MANIFEST).is_file():
        return None
    try:
        return stored.content_of(stored.read_manifest(path))
    except (InputError, OSError, KeyError, TypeError, ValueError):  # whoever reads the vectoriser tells
        return None


def check_target(path: Path) -> None:
    """Refuse a directory that this program has not written.

    Raises
    ------
    MpuError
        A file is there, or a directory with other things in it.
    """
    if not path.exists() and not path.is_symlink():
        return
    if not path.is_dir():
        raise MpuError(f"{path}: is not a directory, and one is to be written there; choose another name for -o")
    if foreign := sorted(entry.name for entry in path.iterdir() if entry.name not in _OURS):
        raise MpuError(f"{path}: holds other files ({foreign[0]}); choose another name for -o")


def read_known(like: str | Path) -> Known:
    """Read what a data file was made with.

    Parameters
    ----------
    like : str or Path
        The data file, which itself is not read, or its directory.

    Raises
    ------
    InputError
        There is no such directory, or it is damaged.
    """
    path = Path(like) if Path(like).is_dir() else directory_of(like)
    if path is None:
        raise InputError(str(like), None, "has no directory with a vectoriser; give a file that mpu vectorize wrote")
    found = stored.load(path)
    if (path / LABELS).exists() and not (path / LABELS).is_file():
        raise InputError(str(path / LABELS), None, "is not a regular file; run mpu vectorize again")
    labels = read_labels(path / LABELS) if found.content is None or found.content.labels else Labels()
    if found.content is None or len(labels) != found.content.labels:
        wanted = "none" if found.content is None else f"{found.content.labels:,}"
        raise InputError(
            str(path / LABELS), None, f"names {len(labels):,} labels, and {wanted} are wanted; run mpu vectorize again"
        )
    from mpu_cli.text.vectorizer import Vectorizer

    return Known(Vectorizer.load(path), labels, found.fields)


def write_directory(
    path: Path, vectorizer: "Vectorizer", labels: Labels, fields: Fields, content: stored.Content
) -> None:
    """Write all files but ``ids`` into a directory that is there."""
    stored.save(path, vectorizer.stored(fields, content))
    (path / LABELS).write_text(as_a_file(labels.lines()), encoding="utf-8", newline="\n")
    vectors = vectorizer.transform_names(labels.names)
    named = np.flatnonzero(np.diff(vectors.indptr))
    numbers = csr_array(
        (np.ones(len(named), bool), named + 1, np.arange(len(named) + 1)), shape=(len(named), len(labels) + 1)
    )
    with (path / LABEL_FEATURES).open("wb") as out:
        write_instances(out, Dataset(numbers, from_one(vectors[named])))


def from_one(vectors: csr_array) -> csr_array:
    """Return vectors as a data file has them: column j becomes feature j + 1."""
    shape = (vectors.shape[0], vectors.shape[1] + 1)
    return csr_array((vectors.data, vectors.indices + 1, vectors.indptr), shape=shape)
