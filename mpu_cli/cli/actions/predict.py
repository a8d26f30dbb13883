"""Predict one file in constant memory, or several by a cluster, and check that the model fits them: ``mpu predict``.

Files contain vectors, with the ids beside them, or texts; predictions are lines of labels and scores, or records.
"""

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import count, islice, pairwise
from pathlib import Path
from typing import Any

import click
import numpy as np
from scipy.sparse import csr_array

from mpu_cli.bundle import MANIFEST, TrainedModel, load
from mpu_cli.bundle.predicting import Fitness, implications_of, reaching, select, with_implied
from mpu_cli.cli.messages import detail, info, warn
from mpu_cli.cli.options import refuse_overlaps
from mpu_cli.cluster import Address, absolute, connected, refuse_other
from mpu_cli.core.explanation import named_reasons
from mpu_cli.core.predictions import FEW_LABELS, Cells
from mpu_cli.errors import (
    STANDARD_STREAM,
    FilesError,
    InputError,
    ModelError,
    MpuError,
    OverflowingError,
    counted,
    shown,
)
from mpu_cli.names.lines import cell
from mpu_cli.names.naming import EVERY_LABEL, IDS, Suggestible, read_ids
from mpu_cli.runtime.files import State, checksum, state_of
from mpu_cli.runtime.run import DEFAULT_RUN, Run, blas_on_one_thread, map_ahead
from mpu_cli.runtime.signals import finally_call
from mpu_cli.svmlight.grammar import DEFAULT_READING, Reading
from mpu_cli.svmlight.prediction_files import with_thresholds
from mpu_cli.svmlight.reader import iter_chunks
from mpu_cli.svmlight.streams import as_one, bytes_of, compression_named, file_name, open_output, refuse_unreadable
from mpu_cli.svmlight.writer import label_lines, score_lines
from mpu_cli.text.analyzer import batches, languages_of, strangers
from mpu_cli.text.records import Fields, Record, RecordReader, form_and_fields, format_of, open_records
from mpu_cli.text.stored import Sidecars, from_one, unpacked, wrong_number_of_ids


def in_folder(folder: str | Path, sources: Sequence[str]) -> dict[str, Path]:
    """Return the path for the predictions of each file: in a directory, under the file's own name.

    If the name ends in ``.gz``, ``.bz2``, ``.xz`` or ``.zst``, the predictions are compressed too.
    """
    files: dict[str, str] = {}
    for source in sources:
        name = "" if source == STANDARD_STREAM else file_name(source).name
        if not name:
            raise FilesError(f"{shown(source)} has no name from which to name its predictions in {folder}")
        if (other := files.setdefault(name, source)) != source:
            raise FilesError(
                f"{shown(other)} and {shown(source)} have the same name, and so would their predictions in {folder}; "
                "predict them into two directories"
            )
    return {source: Path(folder, name) for name, source in files.items()}


# The features of some instances, and their ids.
Rows = tuple[csr_array, list[str]]
RECORD_FORMS = ("jsonl", "tsv")


def _rows_of(source: str | Path, has_ids: bool, reading: Reading, run: Run) -> Iterator[Rows]:
    """Yield the features of instances and, if requested, their ids: those beside the data, or numbers from 1."""
    if not has_ids:
        yield from ((chunk.features, []) for chunk in iter_chunks(source, reading, run=run, may_be_empty=True))
        return
    sidecars, read = Sidecars(source), read_ids(source)
    ids: Iterator[str] = map(str, count(1)) if read is None else read
    for chunk in iter_chunks(source, reading, run=run, may_be_empty=True, measures=sidecars.measures):
        taken = list(islice(ids, len(chunk)))
        if len(taken) < len(chunk):
            raise wrong_number_of_ids(source, False, source)
        yield chunk.features, taken
    if read is not None and next(ids, None) is not None:
        raise wrong_number_of_ids(source, True, source)
    sidecars.refuse(IDS)


def rows_of_texts(model: TrainedModel, source: str, texts: Iterable[str], form: str | None) -> Iterator[Rows]:
    """Yield the features of texts, and their ids, by the model's vectoriser. Warn of new languages.

    `texts`: used instead of a file, whose name then only appears in messages.
    `form`: one of `text.records.FORMATS`; None: from the file name.
    Raises InputError (a record is bad, or the model has no vectoriser).
    """
    if model.packed_vectorizer is None:
        has_texts = "is a directory of texts" if not texts and Path(source).is_dir() else "has texts"
        raise InputError(
            source,
            f"{has_texts}, but the model was trained on vectors; give vectors in a file such as new.svm (if mpu "
            "vectorize made the training data, its --like makes these too)",
        )
    from mpu_cli.text.vectorizer import Vectorizer  # scikit-learn takes half a second; vectors do not need it

    kept = unpacked(model.packed_vectorizer, "the model")
    vectorizer, fields = Vectorizer.of(kept), replace(kept.fields, tags=())  # tags are not used
    records = (Record(line, text, (), None, False) for line, text in enumerate(texts, 1))
    languages: Counter[str] = Counter()
    n = 0
    for batch in batches(records if texts else _records(source, form, fields), Record.size):
        contents = [record.text for record in batch]
        languages += languages_of(contents)
        ids = [str(number) if record.id is None else record.id for number, record in enumerate(batch, n + 1)]
        yield from_one(vectorizer.transform(contents)), ids
        n += len(batch)
    if others := strangers(languages, vectorizer.options_.languages):
        warn(f"{shown(source)}: {others}")


def _records(source: str, form: str | None, fields: Fields) -> Iterator[Record]:
    form, _ = form_and_fields(source, form)
    with open_records(source) as stream:
        yield from RecordReader(source, form, fields).records(stream)


# Number of probabilities that a thread computes at a time; bounds memory for many lines with few features. With many
# labels, only a few for each instance are kept.
_PROBABILITIES = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Output:
    """The output for each instance, by the options of `mpu predict`, whose help describes them."""

    format: str = "labels"  # with scores, the thresholds are at the end of the first line (`svmlight.prediction_files`)
    top_k: int | None = None  # None: all; a model with many labels (`core.predictions`) predicts only some
    threshold: float | None = None  # None: also all labels of records with `top_k`
    suggestible: Suggestible = EVERY_LABEL
    why: bool = False
    fill_implied: bool = False  # also the implied labels of an instance, beyond `top_k`; not for scores

    @property
    def has_all(self) -> bool:
        """Whether labels are written however improbable."""
        return self.threshold is None and (
            self.format in ("scores", "both") or (self.format in RECORD_FORMS and self.top_k is not None)
        )

    def thresholds(self, model: TrainedModel) -> np.ndarray:
        """Return the least score at which each label is predicted: float32, shape (q,)."""
        if self.threshold is not None:
            return np.full(len(model.label_ids), self.threshold, np.float32)
        return model.predictor.thresholds


def predict(
    model: TrainedModel,
    source: str | Path,
    target: str | Path,
    output: Output = Output(),
    *,
    rows: Iterator[Rows] | None = None,
    count: Callable[[int], None] = lambda _: None,
    reading: Reading = DEFAULT_READING,
    run: Run = DEFAULT_RUN,
) -> Fitness:
    """Write the labels or scores of each instance in a file. A file without instances gives an output without records.

    `source`: data file, whose labels are ignored.
    `target`: written completely or not at all.
    `rows`: the content of the source, if it contains texts. Default: it contains vectors.
    `count`: called with the number of newly predicted instances.
    """
    implies = implications_of(model) if output.fill_implied else None
    allowed = output.suggestible.of(model.label_ids, model.names)
    if output.why and model.predictor.rbf is not None:
        raise MpuError("--why needs a linear model, but this one uses kernel features")
    vectorizer = model.packed_vectorizer if output.why else None
    feature_names = None if vectorizer is None else unpacked(vectorizer, "the model").features
    if rows is None:
        if model.packed_vectorizer is not None:
            Sidecars(source).refuse_other_vectorizer(model.packed_vectorizer)
        rows = _rows_of(source, output.format in RECORD_FORMS, replace(reading, labels=False), run)

    # First the top k are chosen, then those of them that reach their own thresholds.
    no_thresholds, n_predicted = np.zeros(len(model.label_ids), np.float32), output.top_k
    thresholds = no_thresholds if output.has_all else output.thresholds(model)
    of_candidates = thresholds if n_predicted is None else no_thresholds
    if allowed is not None:
        of_candidates = np.where(allowed, of_candidates, np.float32(np.inf))  # which no probability reaches
        if n_predicted is not None:  # the labels left out may be the most probable ones
            n_predicted += int(np.count_nonzero(~allowed))
    ranked = output.format != "labels"

    def predict_rows(part: Rows) -> tuple[bytes, Fitness]:
        (features, ids), n = part, part[0].shape[0]
        if output.has_all or n_predicted is not None:
            predictions = model.predictor.predictions(features, run, n_predicted)
        else:
            predictions = reaching(model.predictor, features, of_candidates, run)
        cells = select(predictions, of_candidates, output.top_k, ranked)
        cells = cells[cells.probabilities >= thresholds[cells.columns]]
        if implies is not None:
            cells = with_implied(cells, implies, allowed, ranked)
        of_cells = features, cells.rows, cells.columns, feature_names
        why = named_reasons(model.predictor, *of_cells) if output.why else None
        lines = _lines(model, output, ids, np.searchsorted(cells.rows, np.arange(n + 1)), cells, why)
        return lines, Fitness.of(model, features, written=len(cells))

    width = min(len(model.label_ids), FEW_LABELS) if allowed is None else len(model.label_ids)
    size = max(1, _PROBABILITIES // width)
    slices = (
        (features[start : start + size], ids[start : start + size])
        for features, ids in rows
        for start in range(0, features.shape[0], size)
    )
    found = Fitness()
    with open_output(target) as out, blas_on_one_thread():  # chunks already run in threads
        if output.format == "tsv":
            out.write(b"id\tlabel\tprobability" + b"\turi" * model.names.has_uris + b"\n")
        try:
            for text, of_slice in map_ahead(predict_rows, slices, run.threads):
                has_thresholds = output.format == "scores" and not found.instances  # the first line
                out.write(with_thresholds(text, model.label_ids, output.thresholds(model)) if has_thresholds else text)
                count(of_slice.instances)
                found += of_slice
        except OverflowingError:
            raise InputError(source, "feature values are too large; scale them as in training") from None
    return found


def _lines(
    model: TrainedModel, output: Output, ids: list[str], ends: np.ndarray, cells: Cells, why: list[list[str]] | None
) -> bytes:
    """Return the lines of some instances; the cells of each begin at one of `ends`, and end at the next.

    If labels have URIs, records contain them too: ``uris``, null for a label without one, or a last column. A table is
    safe to open in a spreadsheet (`names.lines`). Labels are text.
    """
    labels, values, names = model.label_ids[cells.columns], cells.probabilities, model.names
    if output.format == "labels":
        return label_lines(ends, labels)
    if output.format in ("scores", "both"):
        chosen = values >= output.thresholds(model)[cells.columns] if output.format == "both" else None
        return score_lines(ends, labels, values, chosen)
    is_table, has_uris = output.format == "tsv", names.has_uris
    named = {k: names.in_cell(k) if is_table else names.shown(k) for k in np.unique(labels).tolist()}
    uris = {k: names.uri(k) for k in named}
    texts = np.asarray(values, np.float32).astype("U").tolist()  # with as few digits as possible
    lines = []
    for id, (start, stop) in zip(ids, pairwise(ends.tolist()), strict=True):
        own, probabilities = labels[start:stop].tolist(), texts[start:stop]
        if is_table:
            for k, probability in zip(own, probabilities, strict=True):
                last = f"\t{cell(uris[k] or '')}" if has_uris else ""
                lines.append(f"{cell(id)}\t{named[k]}\t{probability}{last}\n")
            continue
        record: dict[str, Any] = {"id": id, "labels": [named[k] for k in own]}
        record["probabilities"] = list(map(float, probabilities))
        record |= {"uris": [uris[k] for k in own]} if has_uris else {}
        record |= {} if why is None else {"why": why[start:stop]}
        lines.append(json.dumps(record, ensure_ascii=False) + "\n")
    return "".join(lines).encode()


def predict_files(
    model: Path,
    targets: Mapping[str, str | Path],
    output: Output = Output(),
    *,
    on: Address,
    tick: Callable[[], None] = lambda: None,
    reading: Reading = DEFAULT_READING,
    run: Run = DEFAULT_RUN,
) -> Fitness:
    """Predict files to their targets, which all workers must reach, like the model. `tick` is called once per file."""
    meant = model.absolute(), checksum(model / MANIFEST)
    files = {absolute(source): Path(target).absolute() for source, target in targets.items()}
    with connected(on, run) as executor:
        done = [
            executor.submit(_predict, meant, file, state_of(file), target, output, reading, run.on_a_worker())
            for file, target in files.items()
        ]
        return sum(executor.gather(done, tick), Fitness())


def _predict(
    model: tuple[Path, str], source: str, state: State | None, target: Path, output: Output, reading: Reading, run: Run
) -> Fitness:
    refuse_other(source, state)
    return predict(loaded(*model), source, target, output, reading=reading, run=run)


@lru_cache(maxsize=1)
def loaded(model: Path, sha256: str) -> TrainedModel:
    """Load the model whose manifest has this checksum, once for all files that a worker predicts."""
    trained = load(model)
    if checksum(model / MANIFEST) != sha256:
        raise ModelError(f"{model}: was replaced after the work began; start again")
    return trained


@contextmanager
def _made(folder: Path) -> Iterator[None]:
    """Make a directory unless it exists; remove a new one at the end of the ``with`` block if it is still empty."""

    def remove_if_empty() -> None:
        with suppress(OSError):
            folder.rmdir()

    is_new = not folder.exists()
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise MpuError(f"{folder}: cannot be made: {error.strerror}; give another -o OUT") from error
    with finally_call(remove_if_empty) if is_new else nullcontext():
        yield


def command(
    model: Path,
    sources: tuple[str, ...],
    text: tuple[str, ...],
    text_format: str | None,
    output: str,
    cluster: Address | None,
    reading: Reading,
    run: Run,
    **of_output: Any,
) -> None:
    if (not sources) == (not text):
        raise click.UsageError("Give FILE or --text, not both." if sources else "Give FILE, or texts by --text.")
    what = Output(**of_output)
    if what.why and (what.format != "jsonl" or cluster is not None):
        raise click.UsageError("--why needs --format jsonl, and is not for --cluster.")
    if what.fill_implied and what.format not in ("labels", "jsonl", "tsv"):
        raise click.UsageError("--fill-implied is for --format labels, jsonl and tsv.")
    names = sources or ("--text",)
    into_folder = bool(sources) and (len(sources) > 1 or output.endswith("/"))
    if into_folder and output == "-":
        raise click.UsageError("Predictions of several FILEs go to a directory: give -o OUT.")
    if into_folder and not output.endswith("/") and compression_named(output):
        raise click.UsageError(f"Predictions of several FILEs go to a directory, and {output!r} is the name of a file.")
    refuse_overlaps({"FILE": sources}, {})
    targets: Mapping[str, str | Path] = in_folder(output, sources) if into_folder else {names[0]: output}
    inputs = {"MODEL": model, **what.suggestible.by_option(), "FILE": sources}
    refuse_overlaps(inputs, {"--output": list(targets.values())})

    def has_texts(name: str) -> bool:
        return bool(text) or text_format is not None or format_of(name) is not None or Path(name).is_dir()

    if cluster is not None and (not into_folder or any(map(has_texts, names))):
        raise click.UsageError(
            "With --cluster, FILEs contain vectors, and predictions go to a directory: give -o OUT/."
        )
    with run.step("reading the model"):
        trained = load(model)
    refuse_unreadable(name for name in sources if not Path(name).is_dir())
    # On a terminal, predictions and the progress line would overwrite each other.
    to_terminal = output == "-" and sys.stdout.isatty()
    found = Fitness()
    work = bytes_of(as_one(names)) if cluster is None else len(names)
    folder = _made(Path(output)) if into_folder else nullcontext()
    with folder, (run.quiet() if to_terminal else run).step("predicting", work) as count:
        if cluster is not None:
            found = predict_files(model, targets, what, on=cluster, tick=count, reading=reading, run=run)
        else:
            for name, target in targets.items():
                rows = rows_of_texts(trained, name, text, text_format) if has_texts(name) else None
                one = predict(trained, name, target, what, rows=rows, count=count, reading=reading, run=run)
                found += one
                if rows is not None and (wordless := one.instances - one.with_known_features):
                    of_all = f"{wordless:,} of {counted(one.instances, 'text')}"
                    warn(f"{shown(name)}: {of_all} without any word that the model knows")
    if not found.instances:
        warn(f"{shown(as_one(names))}: there are no instances, so nothing was predicted")
    elif not found.entries and not has_texts(names[0]):
        warn(f"{shown(as_one(names))}: no instance has a feature, such as 1:0.5")
    of_entries = {"unknown": found.unknown, "entries": found.entries}
    for note in found.notes():
        info(note, **of_entries)
    for warning in found.warnings(trained):
        warn(warning, **of_entries)
    detail(
        f"{counted(found.instances, 'instance')}, {counted(found.written, 'label')} written",
        instances=found.instances,
        labels=found.written,
    )
