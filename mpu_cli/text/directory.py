"""The directory beside a data file that was made of texts: ``news.text`` beside ``news.svm``.

It holds
- ``manifest.json``, ``features`` and ``idf.npy``: the vectoriser (`stored`), and where the records are; line j of
  ``features`` names feature j; where features are hashed, there is ``hashes.npy`` in its place;
- ``labels``: line k has the names of label k, separated by tabs, or is empty where k is no label;
- ``broader``: lines of the numbers of a label and of a broader one, where a thesaurus tells them;
- ``deprecated``: the numbers of labels that records have, and the thesaurus no longer wants;
- ``ids``: a line for each instance, its id; there is no such file where the records have none;
- ``groups``: a line for each instance, the name of its group, where a field has that;
- ``label-features.svm``: the vectors of the names of labels, ``number index:value ...``, each of unit length.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.errors import STANDARD_STREAM, InputError, MpuError
from mpu_cli.names.beside import BROADER, DEPRECATED, GROUPS, IDS, LABELS, folder_of
from mpu_cli.names.lines import as_a_file, text_lines, whole
from mpu_cli.runtime.urls import is_url
from mpu_cli.svmlight.dataset import Dataset
from mpu_cli.svmlight.grammar import MAX_ID
from mpu_cli.svmlight.writer import write_instances
from mpu_cli.text import stored
from mpu_cli.text.labels import Labels, read_broader, read_labels
from mpu_cli.text.records import Fields

if TYPE_CHECKING:  # importing scikit-learn takes half a second, which work without texts should not wait for
    from mpu_cli.text.vectorizer import Vectorizer

LABEL_FEATURES = "label-features.svm"
_OURS = {stored.MANIFEST, stored.FEATURES, stored.HASHES, stored.IDF, LABEL_FEATURES}
_OURS |= {LABELS, BROADER, DEPRECATED, IDS, GROUPS}


@dataclass(frozen=True)
class Vectorization:
    """The vectoriser, labels and fields of an earlier data file."""

    vectorizer: "Vectorizer"
    labels: Labels
    fields: Fields


def directory_of(data: str | Path) -> Path | None:
    """Return the directory of a data file: ``data/news.text`` for ``data/news.svm.gz``; None if it is no file."""
    path = Path(data)
    if is_url(data) or str(data) == STANDARD_STREAM or (path.exists() and not (path.is_file() or path.is_dir())):
        return None
    return folder_of(data)


def made_with(data: str | Path) -> stored.Content | None:
    """Return size and checksum of the data file that a directory was made with; None without one, or if damaged."""
    path = directory_of(data)
    if path is None or not (path / stored.MANIFEST).is_file():
        return None
    try:
        return stored.content_of(stored.read_manifest(path))
    except (InputError, OSError, KeyError, TypeError, ValueError):  # reading the vectoriser raises the error
        return None


def check_target(path: Path) -> None:
    """Refuse a directory that this program has not written.

    Raises
    ------
    MpuError
        It is a file, or a directory with other files in it.
    """
    if not path.exists() and not path.is_symlink():
        return
    if not path.is_dir():
        raise MpuError(f"{path}: is not a directory, and one is to be written there; choose another name for -o")
    if foreign := sorted(entry.name for entry in path.iterdir() if entry.name not in _OURS):
        raise MpuError(f"{path}: holds other files ({foreign[0]}); choose another name for -o")


def read_vectorization(like: str | Path) -> Vectorization:
    """Read the vectoriser, labels and fields of a data file.

    Parameters
    ----------
    like : str or Path
        The data file (only its directory is read), or its directory.

    Raises
    ------
    InputError
        There is no such directory, or it is damaged.
    """
    path = Path(like) if Path(like).is_dir() else directory_of(like)
    if path is None:
        raise InputError(str(like), None, "has no directory with a vectoriser; give a file that mpu vectorize wrote")
    kept = stored.load(path)
    if (path / LABELS).exists() and not (path / LABELS).is_file():
        raise InputError(str(path / LABELS), None, "is not a regular file; run mpu vectorize again")
    labels = read_labels(path / LABELS) if kept.content is None or kept.content.labels else Labels()
    if kept.content is None or len(labels) != kept.content.labels:
        wanted = "none" if kept.content is None else f"{kept.content.labels:,}"
        raise InputError(
            str(path / LABELS), None, f"names {len(labels):,} labels, and {wanted} are wanted; run mpu vectorize again"
        )
    from mpu_cli.text.vectorizer import Vectorizer

    if (path / BROADER).is_file():
        labels = labels.under(read_broader(path / BROADER))
    if (path / DEPRECATED).is_file():
        labels.deprecated = [number for line in text_lines(path / DEPRECATED) if (number := whole(line, MAX_ID))]
    return Vectorization(Vectorizer.load(path), labels, kept.fields)


def write_directory(
    path: Path,
    vectorizer: "Vectorizer",
    labels: Labels,
    fields: Fields,
    content: stored.Content,
    records: stored.Records | None = None,
) -> None:
    """Write all files but ``ids`` and ``groups`` into an existing directory."""
    stored.save(path, replace(vectorizer.stored(fields, content), records=records))
    (path / LABELS).write_text(as_a_file(labels.lines()), encoding="utf-8", newline="\n")
    if labels.broader:
        (path / BROADER).write_text(labels.broader_lines())
    if labels.deprecated:
        (path / DEPRECATED).write_text("".join(f"{number}\n" for number in labels.deprecated))
    vectors = vectorizer.transform_names(labels.names)
    named = np.flatnonzero(np.diff(vectors.indptr))
    numbers = csr_array(
        (np.ones(len(named), bool), named + 1, np.arange(len(named) + 1)), shape=(len(named), len(labels) + 1)
    )
    with (path / LABEL_FEATURES).open("wb") as out:
        write_instances(out, Dataset(numbers, from_one(vectors[named])))


def from_one(vectors: csr_array) -> csr_array:
    """Return the vectors of a data file: column j becomes feature j + 1."""
    shape = (vectors.shape[0], vectors.shape[1] + 1)
    return csr_array((vectors.data, vectors.indices + 1, vectors.indptr), shape=shape)
