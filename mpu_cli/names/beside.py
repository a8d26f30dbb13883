"""Files beside a data file: ``news.svm`` has the names of its labels and its ids in ``news.text/``.

`mpu vectorize` writes that directory.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from mpu_cli.errors import STANDARD_STREAM, InputError
from mpu_cli.names.lines import text_lines
from mpu_cli.runtime.urls import is_url
from mpu_cli.svmlight.streams import Files, Source, stem

FOLDER = ".text"
LABELS, IDS, GROUPS, BROADER, DEPRECATED = "labels", "ids", "groups", "broader", "deprecated"
_NUMBERS = re.compile(r"[-+0-9.,:eE\s]*")
_LOOKED_AT = 100  # lines


def find_names(source: Source) -> Path | None:
    """Find the names of the labels of a data file: ``news.text/labels``, or else ``news.labels``; None without names.

    The latter is also that of ``news-train.svm``, if it has none of its own. (Not of ``news-test.svm``: where labels
    are numbered from 0, it may lack that one, and its names would be shifted.) A file ``news.labels`` that begins with
    lines of numbers, as predictions and label frequencies do, is not read as names. Several data files may have the
    same names, fewer of them (from the start), or none.

    Raises
    ------
    InputError
        The names beside two of several files contradict each other.
    """
    if isinstance(source, Files):
        return _common(source)
    if _has_no_place(source):
        return None
    kept = folder_of(source) / LABELS
    if kept.is_file():
        return kept
    own = stem(source)
    others = [Path(source).parent / f"{name}.labels" for name in dict.fromkeys((own, own.removesuffix("-train")))]
    return next((file for file in others if file.is_file() and not file.samefile(source) and _has_words(file)), None)


def find_broader(source: Source) -> Path | None:
    """Return the file of the broader labels of a data file: ``news.text/broader`` or ``news.implied``; None without."""
    if (kept := _beside(source, BROADER)) is not None or isinstance(source, Files) or _has_no_place(source):
        return kept
    return path if (path := implied_file(source)).is_file() else None


def implied_file(source: str | Path) -> Path:
    """Return the path of the rules on implied labels of a data file: ``data/news.implied`` for ``data/news.svm.gz``."""
    return Path(source).parent / f"{stem(source)}.implied"


def find_deprecated(source: Source) -> Path | None:
    """Return the file of the deprecated labels of a data file: ``news.text/deprecated``; None without one."""
    return _beside(source, DEPRECATED)


def _beside(source: Source, name: str) -> Path | None:
    if isinstance(source, Files) or _has_no_place(source):
        return None
    path = folder_of(source) / name
    return path if path.is_file() else None


def _common(files: Files) -> Path | None:
    longest: Path | None = None
    names: list[str] = []
    for file in files:
        if (path := find_names(file)) is None:
            continue
        others = list(text_lines(path))
        for line, (name, other) in enumerate(zip(names, others, strict=False), 1):
            if name != other:
                raise InputError(
                    str(path),
                    line,
                    f"this line of {longest} is another one, but {files} are read as one; give the right names by "
                    "--labels",
                )
        if longest is None or len(others) > len(names):
            longest, names = path, others
    return longest


def is_kept(file: str | Path) -> bool:
    """Whether a file of names was written by `mpu vectorize`: line k names label k."""
    path = Path(file)
    return path.name == LABELS and path.parent.suffix == FOLDER


def read_ids(source: str | Path) -> Iterator[str] | None:
    """Read the id of each instance of a data file, from ``news.text/ids``; None without such a file."""
    if _has_no_place(source):
        return None
    path = ids_file(source)
    return text_lines(path) if path.is_file() else None


def ids_file(source: str | Path) -> Path:
    """Return the path of the ids of a data file."""
    return folder_of(source) / IDS


def folder_of(source: str | Path) -> Path:
    """Return the directory beside a data file: ``data/news.text`` for ``data/news.svm.gz``."""
    return Path(source).parent / f"{stem(source)}{FOLDER}"


def _has_no_place(source: str | Path) -> bool:
    """Whether a source can have no files beside it: standard input, or a URL, which may be no file in a directory."""
    return str(source) == STANDARD_STREAM or is_url(source)


def _has_words(path: Path) -> bool:
    lines = (line for _, line in zip(range(_LOOKED_AT), text_lines(path), strict=False))
    return any(not _NUMBERS.fullmatch(line) for line in lines)
