"""Inputs of ``fuzz.files names``: a byte of options, a file of names, a byte 0xff, a text that may mean a label."""

from collections.abc import Collection
from pathlib import Path

import numpy as np

from mpu_cli.errors import InputError, MpuError
from mpu_cli.names.label_names import LabelNames, is_number
from mpu_cli.names.lines import cell
from mpu_cli.names.naming import Naming, read_implications, read_names
from mpu_cli.review import decisions
from mpu_cli.svmlight.grammar import MAX_ID
from mpu_cli.text.labels import read_labels

_LABELS = [1], [1, 2, 3], [0, 2], [1, 2005], [], [MAX_ID]


def replay(data: bytes, folder: Path) -> None:
    """Read names: the file is refused, or every label has texts of its own, from which it reads back."""
    options = data[0] if data else 0
    is_kept, zero_based, labels = options & 1, bool(options & 2), np.array(_LABELS[(options >> 2) % len(_LABELS)], int)
    content, _, query = data[1:].partition(b"\xff")
    file = folder / ("news.text/labels" if is_kept else "tags")
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(content)
    for use in (
        lambda: _check_names(file, zero_based),
        lambda: _check_labels(Naming(file, zero_based).names_of(labels, "news.svm"), labels, query, folder),
        lambda: _check_vectorizers(file),
    ):
        try:
            use()
        except InputError as error:
            assert str(error.line or "") in str(error) and str(error).isprintable(), error


def _check_names(file: Path, zero_based: bool) -> None:
    names, is_numbered = read_names(file, 0 if zero_based else 1)
    assert all(0 <= number <= MAX_ID for number in names)
    assert is_numbered or sorted(names) == list(names) == list(range(min(names), max(names) + 1))
    for those in names.values():
        assert len(set(those)) == len(those)
        assert all(name and name == name.strip() and not set(name) & set("\t\n") for name in those)
    assert LabelNames.of(names).by_number == names


def _check_vectorizers(file: Path) -> None:
    """Read them as `mpu vectorize` does, which makes a line of every number up to the largest."""
    if max(read_names(file)[0]) < 10_000:
        labels = read_labels(file)
        assert labels.lines().count("\n") == len(labels)


def check_texts(names: LabelNames, numbers: Collection[int]) -> None:
    """Check that each label has texts of its own, and that what is written reads back, also from a cell."""
    written = [names.written(number) for number in numbers]
    for texts in (written, [names.shown(number) for number in numbers], [names.in_cell(number) for number in numbers]):
        assert len(set(texts)) == len(numbers), texts
    for number, text in zip(numbers, written, strict=True):
        assert {names.number(form) for form in (text, cell(text), cell(text).strip())} == {number}


def _check_labels(names: LabelNames, labels: np.ndarray, query: bytes, folder: Path) -> None:
    numbers = sorted({*names.by_number, *labels.tolist()})
    check_texts(names, numbers)
    assert names.only(numbers).by_number == {number: names.by_number.get(number, ()) for number in numbers}
    with (folder / "checked.tsv").open("wb") as out:
        decisions.write(out, np.zeros(len(numbers), int), np.array(numbers), verdict="yes", names=names)
    assert decisions.read([folder / "checked.tsv"], names).label.tolist() == numbers
    _check_query(names, query.decode(errors="replace"), folder)


def _check_query(names: LabelNames, text: str, folder: Path) -> None:
    """Look for what a person wrote; what is said of a text that is no label is one short line."""
    try:
        number = names.number(text)
    except ValueError as error:
        assert str(error).isprintable() and len(str(error)) < 1000
    else:
        assert number in names.by_number or (is_number(text) and int(text) == number)
    for name, lines in (("checked.tsv", f"instance\tlabel\tverdict\n1\t{text}\tyes\n"), ("rules", f"{text}\n")):
        (folder / name).write_bytes(lines.encode())
    for read in (
        lambda: decisions.read([folder / "checked.tsv"], names),
        lambda: read_implications(folder / "rules", names),
    ):
        try:
            read()
        except MpuError as error:
            assert str(error).isprintable()
