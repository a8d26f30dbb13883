"""The vectoriser: scikit-learn's counting, fitted in one pass over texts that may not fit in memory; its directory."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from heapq import nsmallest
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction import FeatureHasher
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import normalize
from sklearn.utils.validation import check_is_fitted

from mpu_cli.core.features import Columns
from mpu_cli.errors import DataError, InputError, MpuError
from mpu_cli.names import naming
from mpu_cli.names.label_names import as_number, is_uri
from mpu_cli.names.lines import as_a_file, text_lines
from mpu_cli.runtime.options import options_of, with_parameters
from mpu_cli.svmlight.reader import Dataset
from mpu_cli.svmlight.writer import write_instances
from mpu_cli.text import stored
from mpu_cli.text.analyzer import TextIn, TextOptions, analyzer_of, batches, chosen, language_of, lead_of, term_counts
from mpu_cli.text.labels import Labels, read_labels
from mpu_cli.text.stored import Stored, from_one

_LEAST_MERGED = 1 << 20
_LEAD_WEIGHT = np.float32(0.5)  # relative to the whole text


@with_parameters(options_of(TextOptions).values())
class Vectorizer(TransformerMixin, BaseEstimator):
    """A scikit-learn transformer that turns texts into the vectors that `mpu vectorize` writes.

    The parameters are the options of `mpu vectorize`, with the same names.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    options_ : TextOptions
        The parameters, with the choice made for ``"auto"``.
    features_ : list of str or None
        Name of each column; None if features are hashed.
    hashes_ : ndarray of int32, shape (m,), or None
        If features are hashed, the columns that occur, ascending.
    idf_ : ndarray of float64, shape (D,), or (m + 1,) if features are hashed
        Inverse document frequency ``log((1 + n) / (1 + df)) + 1`` of each column, in n texts. For hashed features:
        of the columns that occur, then one value for all others.
    forgotten_ : int
        Number of rare terms that were dropped during counting, to limit memory.

    Examples
    --------
    >>> vectorizer = Vectorizer().fit(["digital television", "digital radio"])
    >>> list(vectorizer.get_feature_names_out())
    ['digital', 'digital radio', 'digital television', 'radio', 'television']
    >>> vectorizer.transform(["a digital radio"]).shape
    (1, 5)
    """

    def __init__(self, **chosen: Any) -> None: ...  # `with_parameters` sets them

    def fit(self, X: Iterable[str], y: object = None, *, names: Iterable[str] = ()) -> "Vectorizer":
        """Choose the features. The texts are read one by one, so they may come from a generator.

        Parameters
        ----------
        X : iterable of str
        y : ignored
        names : iterable of str
            Names of labels, read after the texts: their terms are features even if they occur in no text.

        Raises
        ------
        DataError
            A parameter has a wrong value, or no feature is left.
        """
        texts = _texts(X)
        first = next(batches(texts), [])  # the languages of a generator's texts are guessed from these
        options = chosen(stored.checked(self.get_params()), first, _texts(X) if isinstance(X, Sequence) else first)
        if options.hashing is None:
            self._fit_vocabulary(options, chain(first, texts), names)
        else:
            self._fit_hashes(options, chain(first, texts))
        return self

    def _fit_vocabulary(self, options: TextOptions, texts: Iterable[str], names: Iterable[str]) -> None:
        analyzer = analyzer_of(options)
        counts, n, self.forgotten_ = term_counts(texts, analyzer)
        min_df = options.min_df or 1 + (n >= 100) + (n >= 1000)
        in_names = {term for name in names for term in analyzer(name)}  # they do not count towards `max_features`
        frequent = [term for term, count in counts.items() if count >= min_df and term not in in_names]
        if options.max_features is not None:
            frequent = nsmallest(options.max_features, frequent, key=lambda term: (-counts[term], term))
        features = sorted([*frequent, *in_names])
        if not features:
            if min_df == 1:
                raise DataError("no text has a word or n-gram; a word has at least two characters")
            raise DataError(f"no word or n-gram occurs in {min_df} texts; choose a lower min_df, or other n-grams")
        frequencies = np.array([counts[term] for term in features])
        self._set(Stored(replace(options, min_df=min_df), features, _idf(frequencies, n)))

    def _fit_hashes(self, options: TextOptions, texts: Iterable[str]) -> None:
        hashed = _hashes_of(options)
        counts = csr_array((1, 2 ** (options.hashing or 0)), dtype=np.int64)  # number of texts, by column
        new, n = [np.zeros(0, np.int32)], 0

        def merged() -> csr_array:
            columns, frequencies = np.unique(np.concatenate(new), return_counts=True)
            return counts + csr_array((frequencies, columns, [0, len(columns)]), shape=counts.shape)

        for batch in batches(texts):
            new.append(hashed(batch).indices)
            n += len(batch)
            if sum(map(len, new)) > max(_LEAST_MERGED, counts.nnz):  # so that merging takes linear time overall
                counts, new = merged(), new[:1]
        counts = merged()
        self.forgotten_ = 0
        idf = _idf(np.append(counts.data, 0), n)
        self._set(Stored(options, None, idf, hashes=counts.indices.astype(np.int32)))

    def _set(self, kept: Stored) -> None:
        self._stored = kept
        self.options_ = kept.options
        self.features_ = kept.features
        self.hashes_ = kept.hashes
        self.idf_ = kept.idf
        if kept.hashes is None:
            analyzer = analyzer_of(kept.options)
            self._counted = CountVectorizer(analyzer=analyzer, vocabulary=kept.features, dtype=np.float32).transform
        else:
            self._counted = _hashes_of(kept.options)
            self._occurring = Columns(kept.hashes, kept.width)

    def stored(self) -> Stored:
        """Return the state of a fitted vectoriser, for storing."""
        check_is_fitted(self, "idf_")
        return self._stored

    def transform(self, X: Iterable[str]) -> csr_array:
        """Return the vectors of texts: float32, shape (n, D), rows of unit length, or empty for texts without features.

        Parameters
        ----------
        X : iterable of str
        """
        lead, texts = self.stored().options.lead, list(_texts(X))
        if not lead:
            return self._weighed(texts)
        leads = [lead_of(text, lead) for text in texts]
        if len(self.options_.languages) > 1:  # a title is too short for guessing its language
            leads = [TextIn.of(of, language_of(text) or "") for of, text in zip(leads, texts, strict=True)]
        return _unit_rows(self._weighed(texts) + _LEAD_WEIGHT * self._weighed(leads))

    def _weighed(self, texts: list[str]) -> csr_array:
        """Return the vectors of texts, without extra weight for their beginnings."""
        counts = csr_array(self._counted(texts), dtype=np.float32)
        counts.sort_indices()
        counts.data = 1 + np.log(counts.data)
        places = counts.indices
        if self.hashes_ is not None:
            columns, occurs = self._occurring.look_up(places)
            places = np.where(occurs, columns, -1)
        counts.data *= self.idf_[places].astype(np.float32)
        return _unit_rows(counts)

    def transform_names(self, names: Sequence[Sequence[str]]) -> csr_array:
        """Return the vectors of labels from their names: float32, shape (q, D), rows of unit length.

        Parameters
        ----------
        names : sequence of sequence of str
            The names of each label. Each name becomes a vector of unit length; the label's is their sum, rescaled.
            It is empty without names, or if they contain no feature. URIs are skipped, as they have no words.
        """
        words = [[name for name in of_label if not is_uri(name)] for of_label in names]
        check_is_fitted(self, "idf_")
        vectors = self._weighed([name for of_label in words for name in of_label])
        ends = np.cumsum([0, *map(len, words)])
        sums = csr_array((vectors.data, vectors.indices, vectors.indptr[ends]), shape=(len(names), vectors.shape[1]))
        sums.sum_duplicates()
        return _unit_rows(sums)

    def get_feature_names_out(self, input_features: object = None) -> np.ndarray:
        """Return the names of the columns.

        Raises
        ------
        DataError
            Features are hashed, so they have no names.
        """
        if (features := self.stored().features) is None:
            raise DataError("hashed features have no names")
        return np.array(features, object)

    def save(self, path: str | Path) -> None:
        """Write the files that `load` reads into a directory, which is created if missing.

        Raises
        ------
        OSError
            It cannot be written.
        """
        stored.save(Path(path), self.stored())

    @classmethod
    def load(cls, path: str | Path) -> "Vectorizer":
        """Return the vectoriser from a directory that `save`, `mpu vectorize` or `mpu train` has written.

        Parameters
        ----------
        path : str or Path
            Such as ``news.text``.

        Raises
        ------
        InputError
            It is missing or damaged.
        """
        return cls.of(stored.load(Path(path)))

    @classmethod
    def of(cls, kept: Stored) -> "Vectorizer":
        """Return the vectoriser with a stored state."""
        vectorizer = cls(**stored.written(kept.options))
        vectorizer.forgotten_ = 0
        vectorizer._set(kept)
        return vectorizer


def _texts(X: Iterable[str]) -> Iterator[str]:
    if isinstance(X, str):
        raise DataError("give a list of texts, also for a single one")
    for place, text in enumerate(X):
        if not isinstance(text, str):
            raise DataError(f"X[{place}] is {text!r}: give a text, such as '' where there is none")
        yield text


def _unit_rows(matrix: csr_array) -> csr_array:
    return csr_array(normalize(matrix, copy=False)) if matrix.shape[0] else matrix


def _idf(frequencies: np.ndarray, texts: int) -> np.ndarray:
    idf: np.ndarray = np.log((1 + texts) / (1 + frequencies)) + 1
    return idf


def _hashes_of(options: TextOptions) -> Callable[[list[str]], Any]:
    """Return the function that counts the terms in texts by hash; hashes are columns: n x D."""
    width, analyzer = 2 ** (options.hashing or 0), analyzer_of(options)
    hasher = FeatureHasher(width, input_type="string", alternate_sign=False, dtype=np.float32)
    return lambda texts: hasher.transform(map(analyzer, texts)) if texts else csr_array((0, width), dtype=np.float32)


def check_directory(path: Path) -> None:
    """Raise MpuError if a directory is a file, or contains files that this program has not written."""
    if not path.exists() and not path.is_symlink():
        return
    if not path.is_dir():
        raise MpuError(f"{path}: is not a directory, and one is to be written there; choose another name for -o")
    if foreign := sorted(entry.name for entry in path.iterdir() if entry.name not in stored.OURS):
        raise MpuError(f"{path}: contains other files ({foreign[0]}); choose another name for -o")


def read_vectorization(like: str | Path) -> tuple[Vectorizer, Labels]:
    """Read the vectoriser and the labels of a data file.

    `like`: the data file (only its directory is read), or its directory.
    Raises InputError (the directory is missing or damaged).
    """
    path = Path(like) if Path(like).is_dir() else naming.place_beside(like, naming.FOLDER)
    if path is None:
        raise InputError(like, "has no directory with a vectoriser; give a file that mpu vectorize wrote")
    kept, names = stored.load(path), path / naming.LABELS
    if names.exists() and not names.is_file():
        raise InputError(names, "is not a regular file; run mpu vectorize again")
    labels = read_labels(names) if kept.content is None or kept.content.labels else Labels()
    if kept.content is None or len(labels) != kept.content.labels:
        wanted = "none" if kept.content is None else f"{kept.content.labels:,}"
        raise InputError(names, f"names {len(labels):,} labels, but {wanted} are expected; run mpu vectorize again")
    if (path / naming.BROADER).is_file():
        labels.broader = naming.read_implications(path / naming.BROADER)
    if (path / naming.DEPRECATED).is_file():
        labels.deprecated = [number for line in text_lines(path / naming.DEPRECATED) if (number := as_number(line))]
    return Vectorizer.of(kept), labels


def write_directory(path: Path, kept: Stored, labels: Labels) -> None:
    """Write all files except ``ids`` and ``groups`` into an existing directory."""
    stored.save(path, kept)
    (path / naming.LABELS).write_text(as_a_file(labels.lines()), encoding="utf-8", newline="\n")
    if labels.broader:
        (path / naming.BROADER).write_text(labels.broader.lines())
    if labels.deprecated:
        (path / naming.DEPRECATED).write_text("".join(f"{number}\n" for number in labels.deprecated))
    vectors = Vectorizer.of(kept).transform_names(labels.names)
    named = np.flatnonzero(np.diff(vectors.indptr))
    entries = np.ones(len(named), bool), named + 1, np.arange(len(named) + 1)
    numbers = csr_array(entries, shape=(len(named), len(labels) + 1))
    with (path / naming.LABEL_FEATURES).open("wb") as out:
        write_instances(out, Dataset(numbers, from_one(vectors[named])))
