"""Inputs of ``fuzz.files``: records of texts, changes to what is beside data of texts, thesauri."""

import io
import json
import warnings
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from mpu_cli.cli.actions.vectorize import vectorize
from mpu_cli.errors import InputError, MpuError
from mpu_cli.names.label_names import is_uri, without_brackets
from mpu_cli.names.lines import as_a_file
from mpu_cli.names.naming import BESIDE, read_ids
from mpu_cli.runtime.files import checksum
from mpu_cli.svmlight.reader import read
from mpu_cli.text.analyzer import TextOptions
from mpu_cli.text.labels import read_labels, read_thesaurus
from mpu_cli.text.records import FORMATS, Fields, RecordReader, clean
from mpu_cli.text.stored import Sidecars
from mpu_cli.text.vectorizer import Vectorizer
from tests.bundle.corpus import Choices, change_bytes, cut
from tests.line_limit import line_limit

_LIMITS = 8, 40, 1 << 23
_OPTIONS = TextOptions(stem="none"), TextOptions(analyzer="char", stem="none"), TextOptions(hashing=8, stem="none")
_RECORDS = (
    '{"id": "\ufeffa", "text": "digital radio", "tags": ["Radio", "Media"]}\n'
    '{"id": "b", "text": "radio waves", "tags": ["\ufeff"]}\n'
)
_VALUES = (
    *(None, True, False, 0, 1, 2, -1, 0.5, 1e39, float("nan"), float("inf"), 2**31, 2**63, 2**70, "", "7", "0" * 64),
    *([], {}, [[]], ["text"], ["text", 1], [1, 2], {"x": 1}, "word", "char", "english", "tfidf", "\ud800", "a\nb"),
)
_NUMBERS = 0.0, -1.0, 0.5, 1.0, 2.0, 44.0, 1e5, 1e30, 1e39, 1e308, float("nan"), float("inf"), 5e-324


def replay_records(data: bytes, folder: Path) -> None:
    """Read records, and make vectors of them: each is good, bad with its line, or the file is refused.

    The first byte stands for the format, the limit on lines and the options; the others are the file.
    """
    kind, content = data[0] if data else 0, data[1:]
    form, options = FORMATS[kind % 3], _OPTIONS[kind // 9 % 3]
    with line_limit(_LIMITS[kind // 3 % 3]):
        good, lines = [], [0]
        try:
            reader = RecordReader("texts", form, Fields())
            reader.refuse = lambda row, problem: lines.append(row.line) if problem else None
            for record in reader.records(io.BytesIO(content)):
                lines.append(record.line)
                assert all(tag and tag == tag.strip() and not set(tag) & set("\t\r\n") for tag in record.tags)
                assert record.id is None or (record.id and not set(record.id) & set("\r\n"))
                good.append(record)
            assert lines == sorted(set(lines))
        except InputError as error:
            assert _is_shown(error)
            good = []
        texts, target = folder / "texts", folder / "data.svm"
        texts.write_bytes(content)
        try:
            report = vectorize(texts, target, form=form, skip_bad=True, options=options)
        except MpuError as error:
            assert _is_shown(error)
            return
        assert report["instances"] == len(good)
        kept = read_labels(folder / "data.text" / "labels").names if report["labels"] else []
        found = [{kept[number - 1][0] for number in row.indices} for row in read(target).labels]
        assert found == [set(record.tags) for record in good]
        ids = read_ids(target)
        assert (None if ids is None else list(ids)) == (None if good[0].id is None else [record.id for record in good])
        again = folder / "again.svm"
        vectorize(texts, again, form=form, skip_bad=True, like=target)
        assert again.read_bytes() == target.read_bytes()


def replay_directory(data: bytes, folder: Path) -> None:
    """Use a directory in which something was changed: it is refused, left out, or gives vectors and names."""
    choices = Choices(data)
    files = dict(choices.one_of(_directories()))
    while choices:
        choices.one_of(_CHANGES)(files, choices)
    (folder / "data.text").mkdir(exist_ok=True)
    for path in (folder / "data.text").iterdir():
        path.unlink()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    if "data.text/manifest.json" in files:
        _fit_checksums(folder / "data.text")
    target = folder / "data.svm"
    (folder / "new.jsonl").write_text(_RECORDS, encoding="utf-8")

    def like() -> None:
        report = vectorize(folder / "new.jsonl", folder / "new.svm", tags=("tags",), like=target)
        assert report["instances"] == 2
        assert np.isfinite(read(folder / "new.svm").features.data).all()

    def names() -> None:
        labels = read(target).occurring_labels()[1]
        found = Sidecars(target).names_of(BESIDE, labels)
        assert found is None or all(found.name(number) for number in labels.tolist())

    def ids() -> None:
        found = read_ids(target)
        assert found is None or len(list(found)) >= 0
        Sidecars(target).refuse("ids")

    def vectorizer() -> None:
        kept = Sidecars(target).stored_vectorizer()
        if kept is not None:
            vectors = Vectorizer.of(kept).transform(["digital radio radio", "", "waves"])
            assert np.isfinite(vectors.data).all()

    for use in (like, names, ids, vectorizer):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                use()
            except MpuError as error:
                assert _is_shown(error)


_THESAURI = ".ttl", ".rdf", ".nt", ".jsonld", ".csv"


def replay_thesaurus(data: bytes, folder: Path) -> None:
    """Read a thesaurus: it is refused in one line, or its labels are names that a file of names has, and reads back.

    The first byte stands for the format; the others are the file.
    """
    path = folder / f"thesaurus{_THESAURI[(data[0] if data else 0) % len(_THESAURI)]}"
    path.write_bytes(data[1:])
    try:
        labels = read_thesaurus(path)[0]
    except InputError as error:
        assert _is_shown(error)
        return
    for names in labels.names:
        assert all(name and name == clean(name) for name in names), names
    assert all(0 < wide <= len(labels) for them in labels.broader.next_broader().values() for wide in them)
    if any(labels.names):
        kept = folder / "news.text" / "labels"
        kept.parent.mkdir(exist_ok=True)
        kept.write_text(as_a_file(labels.lines()), encoding="utf-8", newline="\n")
        assert read_labels(kept).names == [
            tuple(sorted(map(without_brackets, names), key=is_uri)) for names in labels.names
        ]


def _is_shown(error: MpuError) -> bool:
    """Whether a message can be written; the command line makes one line of it."""
    return bool(str(error)) and bool(str(error).encode("utf-8", "backslashreplace"))


@cache
def _directories() -> list[dict[str, bytes]]:
    """Return the files of a small data file and of the directory beside it, for each kind of vectoriser."""
    found = []
    for options in _OPTIONS:
        with TemporaryDirectory() as place:
            folder = Path(place)
            (folder / "data.jsonl").write_text(_RECORDS, encoding="utf-8")
            vectorize(folder / "data.jsonl", folder / "data.svm", options=options)
            paths = [folder / "data.svm", *sorted((folder / "data.text").iterdir())]
            found.append({str(path.relative_to(folder)): path.read_bytes() for path in paths})
    return found


def _fit_checksums(folder: Path) -> None:
    """Make the checksums of a vectoriser those of its files: damage that they would tell is another matter."""
    try:
        manifest = json.loads((folder / "manifest.json").read_bytes())
        sums = manifest["checksums"]
        manifest["checksums"] = {name: checksum(folder / name) for name in sums}
        (folder / "manifest.json").write_text(json.dumps(manifest))
    except Exception:  # damaged by a change
        return


def _change_value(files: dict[str, bytes], choices: Choices) -> None:
    """Change, add or remove a value of the manifest."""
    try:
        outer = values = json.loads(files["data.text/manifest.json"])
        key = choices.one_of(sorted(values))
        while isinstance(outer[key], dict) and outer[key] and choices.below(4):
            outer = outer[key]
            key = choices.one_of(sorted(outer))
    except Exception:  # damaged by another change
        return
    if choices.below(8):
        outer[key] = choices.one_of(_VALUES)
    else:
        del outer[key]
    files["data.text/manifest.json"] = json.dumps(values).encode()


def _change_number(files: dict[str, bytes], choices: Choices) -> None:
    content = files.get("data.text/idf.bin", b"")
    place = len(content) - 8 * (1 + choices.below(9))
    if place > 0:
        number = np.float64(choices.one_of(_NUMBERS)).tobytes()
        files["data.text/idf.bin"] = content[:place] + number + content[place + 8 :]


_CHANGES = change_bytes, partial(cut, kept={"data.svm"}), _change_value, _change_value, _change_number
