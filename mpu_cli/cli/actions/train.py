"""Train a model on files, here or by a cluster, and report it: ``mpu train``. `Gate` accepts or rejects it.

A line of a history is a JSON object. One that a full disk or a power failure has cut short stays a line of its own,
which a reader reports.
"""

import fcntl
import json
import logging
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import click
import numpy as np
from scipy.sparse import csr_array

from mpu_cli import bundle
from mpu_cli.bundle import TrainedModel, Writer, provenance
from mpu_cli.bundle.manifest import manifest_of
from mpu_cli.bundle.predicting import Fitness
from mpu_cli.bundle.writing import check_kept
from mpu_cli.cli.actions.evaluate import conclusion_on, predicted_pairs
from mpu_cli.cli.actions.predict import write_out_of_fold
from mpu_cli.cli.commands import KS, Acceptance
from mpu_cli.cli.messages import detail, is_quiet, name_of, planned
from mpu_cli.cli.options import refuse_set
from mpu_cli.cli.printing import (
    FIRST_OF_ALL,
    WIDE,
    by_people,
    expected,
    frequency,
    never_annotated,
    output_report,
    print_groups,
    print_lines,
    prior_line,
)
from mpu_cli.cluster import Address
from mpu_cli.core.loss import DEFAULT as DEFAULT_LOSS
from mpu_cli.core.options import LINEAR, STANDARDISED, Options
from mpu_cli.errors import (
    STANDARD_STREAM,
    BusyError,
    FilesError,
    InputError,
    ModelError,
    MpuError,
    RejectedError,
    counted,
    shown,
    without_secrets,
)
from mpu_cli.evaluation.bootstrap import Counts, Difference, compare, ranking_gains
from mpu_cli.inputs.training_data import (
    AnnotatedData,
    Sources,
    TrainingData,
    cluster_data,
    frequency_file,
    training_set,
)
from mpu_cli.review.matching import ReviewCounts
from mpu_cli.runtime.files import refuse_overlaps
from mpu_cli.runtime.machine import peak_bytes
from mpu_cli.runtime.parallel import in_background
from mpu_cli.runtime.report import HIDDEN, INLINE, as_json
from mpu_cli.runtime.run import DEFAULT_RUN, Run
from mpu_cli.runtime.steps import Step
from mpu_cli.runtime.urls import is_url
from mpu_cli.svmlight.grammar import Reading
from mpu_cli.svmlight.reader import iter_chunks
from mpu_cli.svmlight.streams import Files, compression_named, files_of, refuse_unwritable, stem
from mpu_cli.text.stored import is_same, packed

_NEW, _PRESENT = "the new model", "the present one"
_COMPARED_FIRST = 16  # entries, before all are
_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The comparison of a new model with the present one."""

    accepted: bool
    verdict: str  # Why, in one line.
    test_file: str
    test_metric: str
    test_value: float  # The metric of the new model on the test data.
    test_difference: Difference | None  # To the model that decided; None where there is no other.
    unknown_features: float  # Share of the feature values of the test data whose feature never occurred in training.
    labels_per_instance: float  # Mean number of labels that it predicts for an instance of the test data.
    labels_expected: float  # The same, as estimated of the training data: annotations by the label frequency c.
    # Where it does not fit the test data.
    warnings: tuple[str, ...] = field(metadata=HIDDEN)  # reports of trainings have a field for all warnings


class Gate:
    """What a new model has to pass. Made before the training, so that what is wrong is seen before it.

    It predicts the test data with the present model and the kept ones. The caller has the lock of the model.
    """

    def __init__(self, acceptance: Acceptance, target: Path, reading: Reading, run: Run) -> None:
        self.acceptance, self.target, self.reading, self.run = acceptance, target, reading, run
        self.packed_vectorizer: bytes | None = None  # that of the others
        # Names of the others, and what was counted of them: the present model first, if there is one, then those before
        self.others: list[tuple[str, Counts]] = []
        if not sum(chunk.labels.nnz for chunk in iter_chunks(acceptance.test, reading, run=run)):
            raise InputError(acceptance.test, None, "has no labels, so no model can be tested on it")
        kept = check_kept(target, acceptance.keep)[: acceptance.keep]
        self.present = manifest_of(target)
        with run.step(Step.TEST_EARLIER_MODELS):
            for path in ([] if self.present is None else [target]) + kept:
                try:
                    model = bundle.load(path)
                except ModelError as error:
                    if path is target:
                        raise ModelError(
                            f"{error}; or put a kept model in its place, or train once without --accept-on: no model "
                            "can be compared with this one"
                        ) from error
                    _log.warning(f"{error}; {path.name} is not compared with")
                    continue
                if not self.others:
                    self.packed_vectorizer = model.packed_vectorizer
                if is_same(model.packed_vectorizer, self.packed_vectorizer):
                    self.others.append((_PRESENT if path is target else path.name, self._tested(model)[0]))

    def refuse_other_numbers(self, packed_vectorizer: bytes) -> None:
        """Refuse data whose features are numbered otherwise than the present model's: no test data would fit both."""
        if self.packed_vectorizer is not None and not is_same(self.packed_vectorizer, packed_vectorizer):
            raise ModelError(
                f"{self.target}: was trained on data of another vectoriser, so one TEST.svm cannot fit both "
                "models; make the data by mpu vectorize --like, or train once without --accept-on"
            )

    def refuse_seen(self, features: csr_array) -> None:
        """Raise FilesError where the test data are among the training data, in one piece, whatever their labels."""
        rows, done = np.arange(features.shape[0]), 0
        for chunk in iter_chunks(self.acceptance.test, self.reading, run=self.run):
            rows = _where(chunk.features, features, rows + done) - done
            done += len(chunk)
            if not len(rows):
                return
        raise FilesError(
            f"--accept-on: the instances of {shown(self.acceptance.test)} are in the training data, from number "
            f"{rows[0] + 1} on; leave test data out of the training"
        )

    def test(self, model: TrainedModel, labels_expected: float) -> Outcome:
        """Predict the test data with a new model, and decide; `labels_expected` as in `Outcome`."""
        metric = self.acceptance.accept_metric
        with self.run.step(Step.TEST):
            counts, fitness = self._tested(model)
            metrics, differences = compare([counts, *(one for _, one in self.others)], seed=self.run.seed)
        value, *values = (one[metric] for one in metrics)
        accepted, reason, gain = self._decided(value, values, [_reversed(one[metric]) for one in differences])
        if accepted and self._is_held(model):
            reason = f"the new model was trained on the same data as {self._held.name}; remove that to accept it"
            accepted = False
        predicted = counts.predicted
        return Outcome(
            accepted=accepted,
            verdict=reason,
            test_file=without_secrets(self.acceptance.test),
            test_metric=metric,
            test_value=value,
            test_difference=gain,
            unknown_features=fitness.unknown / max(fitness.entries, 1),
            labels_per_instance=float(predicted.sum()) / predicted.shape[0],
            labels_expected=labels_expected,
            warnings=tuple(f"{self.acceptance.test}: {warning}" for warning in fitness.warnings(model)),
        )

    def replace_present(self, write: Writer, model: TrainedModel) -> None:
        """Put an accepted model in the place of the present one, which is kept."""
        with write.held():
            if manifest_of(self.target) not in (None, self.present):
                raise BusyError(
                    f"{self.target}: was replaced during the training and could not be compared; train again"
                )
            write(model, self.acceptance.keep)

    @property
    def _held(self) -> Path:
        """Where a user has put a model that is not to come back."""
        return self.target.resolve().with_name(f"{self.target.resolve().name}.held")

    def _is_held(self, model: TrainedModel) -> bool:
        if not self._held.exists():
            return False
        new, held = (_checksums(one.origin) for one in (model, bundle.load(self._held)))
        return bool(new) and new == held

    def _decided(
        self, value: float, values: list[float], gains: list[Difference]
    ) -> tuple[bool, str, Difference | None]:
        """Decide by the metrics of the new model and the others, and by its differences to them.

        Return whether it is accepted, why, and the difference that decided, if there is another model.
        """
        if not gains:
            return True, f"{self.acceptance.accept_metric} {value:.3f}, and no other model to compare it with", None
        best = max(range(len(values)), key=values.__getitem__)  # the present one, if it is as good
        worse = [other for other in (0, best) if gains[other].high < -self.acceptance.accept_margin]
        decisive = worse[0] if worse else 0
        said = conclusion_on(self.others[decisive][0], _NEW, self.acceptance.accept_metric, gains[decisive])
        return not worse, said, gains[decisive]

    def _tested(self, model: TrainedModel) -> tuple[Counts, Fitness]:
        chunks, gains, fitness = [], [], Fitness()  # of label sets by the thresholds of the model itself
        for true, predicted in predicted_pairs(model, self.acceptance.test, self.reading, self.run):
            fitness += Fitness.of(model, true.features, true.labels)
            chunks.append((true.labels, predicted.labels))
            gains.append(ranking_gains(true.labels, predicted.features, KS))
        return Counts.of(chunks, gains, KS), fitness


def _checksums(origin: bytes | None) -> list[str]:
    """Return the checksums of the data of a training; nothing where one is not known."""
    record = {} if origin is None else json.loads(origin)
    sums = [file["sha256"] for file in record.get("files", ())] or [record.get("source_sha256")]
    return sums if all(sums) else []


def _where(part: csr_array, features: csr_array, rows: np.ndarray) -> np.ndarray:
    """Return those of some rows from which on features have all rows of a part."""
    n, nnz = part.shape[0], part.nnz
    rows = rows[rows + n <= features.shape[0]]
    rows = rows[features.indptr[rows + n] - features.indptr[rows] == nnz]
    for entry in np.unique(np.linspace(0, nnz - 1, min(nnz, _COMPARED_FIRST)).astype(int)):
        places = features.indptr[rows] + entry
        is_same = (features.indices[places] == part.indices[entry]) & (features.data[places] == part.data[entry])
        rows = rows[is_same]
    return rows[[_is_there(part, features, row) for row in rows.tolist()]] if len(rows) else rows


def _is_there(part: csr_array, features: csr_array, row: int) -> bool:
    ends = features.indptr[row : row + part.shape[0] + 1]
    entries = slice(ends[0], ends[-1])
    return (
        np.array_equal(ends - ends[0], part.indptr)
        and np.array_equal(features.indices[entries], part.indices)
        and np.array_equal(features.data[entries], part.data)
    )


def _reversed(difference: Difference) -> Difference:
    return Difference(*(0 - value for value in (difference.value, difference.high, difference.low)))


@dataclass(frozen=True, kw_only=True)
class TrainingReport:
    """The result of `train`."""

    model: Path  # The directory that was written.
    instances: int
    features: int  # Those that occur.
    labels: int
    labels_never_annotated: int | None = None  # Labels that have names or features alone; None where there are none.
    review: ReviewCounts | None = None  # Counts of the decisions in review files.
    findings: dict[str, Any] = field(metadata=INLINE)
    c_assumption: str | None = None  # What c rests on where it comes from annotations alone.
    threshold: float | None = None  # From which probability on a label is predicted: one that all labels share.
    thresholds: dict[int, float] | None = None  # The same where labels have thresholds of their own, by number.
    seconds: dict[str, float]  # Wall time of each step.
    peak_bytes: int  # Of memory.
    cluster: dict[str, int] | None = None  # How a cluster carried it out.
    acceptance: Outcome | None = None  # With --accept-on.
    annotations: int = field(metadata=HIDDEN)  # How many labels of instances are annotated.
    warnings: tuple[str, ...]  # What the user should know before trusting the model.


# What a history has of a report, in this order; see `_line`.
_IN_HISTORY = (
    *("instances", "features", "labels", "annotations", "c", "c_estimated", "c_interval"),
    *("expected_micro_f1", "expected_micro_f1_interval", "seconds", "warnings"),
)


def train(
    sources: Sources,
    target: Path,
    options: Options,
    *,
    on: Address | None = None,
    oof: Path | None = None,
    history: Path | None = None,
    acceptance: Acceptance | None = None,
    run: Run = DEFAULT_RUN,
) -> TrainingReport:
    """Learn a model of all labels of files, and write it.

    An existing model is replaced only when the new one is complete, and accepted if that is asked for.

    `sources`: with `on`, the workers read the data, by their full names; the model and the predictions
    out of fold are written here.
    `options`: `c` may be the Path of a file.
    `oof`, `history`: files for predictions out of fold, and for a line about this training.
    `acceptance`: by what the new model takes the place of the present one. Default: it does.
    `on`: where workers read and learn. Default: this process does.
    """
    test = None if acceptance is None else acceptance.test
    inputs = {**sources.by_option(), "--c": frequency_file(options), "--accept-on": test}
    refuse_overlaps(inputs, {"--output": target, "--oof": oof, "--history": history}, ("--output",))
    for name, path in sources.by_option().items():
        with suppress(OSError):
            if test is not None and path is not None and Path(path).samefile(test):
                raise FilesError(
                    f"{name} and --accept-on are the same file, {test}; leave test data out of the training"
                )
    refuse_unwritable(oof)
    if history is not None:
        _refuse_unappendable(history)
    names = {"time": provenance.now(), "model": str(target), "file": without_secrets(str(sources.file))}
    hold_out_all = oof is not None
    seconds: dict[str, float] = {}
    with nullcontext() if history is None else _with_failures(history, names), ExitStack() as stack:
        save = stack.enter_context(bundle.writer(target))
        gate = None
        if acceptance is not None:
            gate = Gate(acceptance, target, sources.reading, run.timed(seconds))
        data: AnnotatedData
        if on is None:
            data = training_set(sources, run.timed(seconds))
        else:
            data = stack.enter_context(cluster_data(sources, on, run.timed(seconds)))
        if gate is not None and isinstance(data, TrainingData):
            gate.refuse_seen(data.features)
        if gate is not None and data.stored_vectorizer is not None:
            gate.refuse_other_numbers(packed(data.stored_vectorizer))
        described = in_background(data.described)  # while models are learned
        asked = data.resolved(options)
        fitted = data.fit(asked, run, hold_out_all)
        with run.timed(seconds).step(Step.WRITE):
            if oof is not None:
                write_out_of_fold(oof, fitted, data.ids, data.instances_of_file)
            files = provenance.of_files(described.result(), sources.others())
            model = data.assembled(fitted, options, run, files)
            if gate is None:
                save(model)
        outcome = None if gate is None else gate.test(model, float(data.true_labels(fitted).sum()) / len(data))
        thresholds = dict(zip(data.ids.tolist(), fitted.model.thresholds.tolist(), strict=True))
        shared = next(iter(thresholds.values())) if len(set(thresholds.values())) == 1 else None
        steps = (Step.WRITE, Step.TEST)
        report = TrainingReport(
            model=target,
            instances=len(data),
            features=len(model.occurring.indices),
            labels=len(data.ids),
            labels_never_annotated=len(data.never_annotated) or None,
            review=data.review,
            findings=fitted.findings,
            c_assumption=fitted.estimates.assumption,
            threshold=shared,
            thresholds=thresholds if shared is None else None,
            seconds={Step.READ: seconds[Step.READ], **fitted.seconds, **{s: seconds[s] for s in steps if s in seconds}},
            peak_bytes=peak_bytes(),
            annotations=int(data.annotations.sum()),
            warnings=(*fitted.warnings, *(() if outcome is None else outcome.warnings)),
            cluster=data.work(),
            acceptance=outcome,
        )
        if gate is not None and report.acceptance is not None and report.acceptance.accepted:
            gate.replace_present(save, model)
    if history is not None:
        append(history, names | {"time": provenance.now()} | _line(report))
    return report


def _print_report(report: TrainingReport) -> None:
    """Print the results of a training, one on each line."""
    found = dict(report.findings)
    lines = {
        "data": f"{counted(report.instances, 'instance')}, {counted(report.features, 'feature')}, "
        f"{counted(report.labels, 'label')}{never_annotated(report.labels_never_annotated or 0)}"
    }
    if report.cluster is not None:
        lines["cluster"] = ", ".join(counted(number, of.removesuffix("s")) for of, number in report.cluster.items())
    if (review := report.review) is not None:
        lines["review"] = (
            f"{counted(review.decisions, 'decision')}: {counted(review.found, 'missing label')} found, "
            f"{counted(review.refuted, 'annotation')} rejected; {counted(review.closed, 'instance')} completely "
            f"reviewed, {review.sampled:,} of them at random"
        )
    if "c_by_people" in found:
        lines["c"] = by_people(found["c_by_people"])
    else:
        is_known, interval = found.get("c_known", True), found.get("c_interval") or None
        if is_known and interval is not None and interval[1] - interval[0] > WIDE:
            lines = {"first of all": FIRST_OF_ALL, **lines}
        lines["c"] = frequency(found["c"], found["c_estimated"], interval, is_known)
    if "levels" in found:
        by_level = " and ".join(f"{f1:.3f}" for f1 in found["expected_micro_f1_by_level"])
        lines["levels"] = str(found["levels"]) + f"; expected micro-F1 of one and of two: {by_level}" * (
            " " in by_level
        )
    if "scaling" in found:
        by = "deviation" if found["scaling"] == STANDARDISED else "largest value"
        lines["features"] = f"each divided by its {by}, as some were far larger than others"
    if "rbf_gamma" in found:
        landmarks = counted(found["rbf_landmarks"], "landmark")
        lines["features"] = f"of an RBF kernel by {landmarks}, gamma {found['rbf_gamma']:.3g}"
    lines["loss"] = found["loss"]
    step = f", step {found['step']:g}" if "step" in found else ""
    lines["C"] = f"{found['cost']:g}{step}, {counted(found['epochs'], 'epoch')}"
    lines |= prior_line(found)
    thresholds = [report.threshold or 0.0] if report.thresholds is None else [*report.thresholds.values()]
    low, high = min(thresholds), max(thresholds)
    lines["threshold"] = f"{low:.3f}" + f" to {high:.3f}" * (low < high)
    f1 = found["expected_micro_f1"], found["expected_micro_f1_interval"]
    lines["expected"] = expected(*f1, found["c_estimated"])
    if (outcome := report.acceptance) is not None:
        lines["accepted" if outcome.accepted else "rejected"] = outcome.verdict
    seconds, memory = sum(report.seconds.values()), report.peak_bytes / 1e9
    lines["model"] = f"{click.format_filename(report.model)} ({seconds:.1f} s, {memory:.1f} GB of memory)"
    print_lines(lines)
    print_groups(found.get("c_by_group"))


def _line(report: TrainingReport) -> dict[str, Any]:
    """Return what a history has of a training beside its names; c is the mean over labels, seconds are of all steps."""
    values, c = as_json(report), report.findings.get("c")
    values |= {"annotations": report.annotations, "c": float(np.mean(c)) if isinstance(c, list) else c}
    values["seconds"] = round(sum(report.seconds.values()), 3)
    line = {name: values.get(name) for name in _IN_HISTORY} | values.get("acceptance", {})
    return line | ({"cluster": values["cluster"]} if "cluster" in values else {})


def _refuse_unappendable(path: Path) -> None:
    """Refuse a file to which nothing can be added, before any training; it is not made yet."""
    try:
        path.stat()
        place = path
    except FileNotFoundError:
        place = path.parent
    if path.is_dir():
        raise MpuError(f"{path}: is a directory; name a file for --history")
    if suffix := compression_named(path):
        raise MpuError(f"{path}: lines are appended to a history, so it cannot be compressed; name it without {suffix}")
    if not os.access(place, os.W_OK):
        raise MpuError(f"{path}: cannot be written; name another file for --history")


def append(path: Path, entry: dict[str, Any]) -> None:
    """Add a line to a history, as a whole and at the end, whichever trainings add theirs at the same time."""
    line = json.dumps(entry, allow_nan=False).encode() + b"\n"
    try:
        file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            size = os.fstat(file).st_size
            if size and os.pread(file, 1, size - 1) != b"\n":
                line = b"\n" + line
            if os.write(file, line) != len(line):
                os.ftruncate(file, size)
                raise OSError(28, "No space left on device")
            os.fsync(file)
        finally:
            os.close(file)
    except OSError as error:
        raise MpuError(f"{path}: the model is saved, but the history could not be written: {error.strerror}") from error


@contextmanager
def _with_failures(path: Path, names: dict[str, Any]) -> Iterator[None]:
    """Add a line to a history with the error that ends the context, if any: `names` are its time, model and file."""
    try:
        yield
    except (MpuError, OSError, MemoryError) as error:
        with suppress(MpuError):  # the first error is told
            append(path, as_json(names) | {"error": without_secrets(str(error)) or "out of memory"})
        raise


def command(
    sources: Sources,
    output: Path | None,
    learning: Options,
    oof: Path | None,
    on: Address | None,
    run: Run,
    as_json: bool,
    history: Path | None,
    acceptance: Acceptance | None,
) -> None:
    """Carry out the command, with what `mpu_cli.cli.commands` has read."""
    if output is None:
        if sources.file == "-":
            raise click.UsageError("Standard input has no name from which to name the model: give -o MODEL.")
        if isinstance(sources.file, Files):
            raise click.UsageError("Several FILEs have no single name from which to name the model: give -o MODEL.")
        output = default_model(str(sources.file))
    elif str(output) == "-":
        raise click.UsageError("A model is a directory and cannot go to standard output: give -o MODEL.")
    if "-" in map(str, (oof, history)):
        raise click.UsageError("Standard output takes the report: give --oof and --history a file.")
    if on is not None:
        _refuse_on_cluster(sources, learning)
    chosen = [Step.ESTIMATE_C] * (learning.c is None) + [Step.CHOOSE_C] * (learning.cost is None)
    levels = [f"level {k}{what}" for k in range(learning.levels or 2) for what in ("", ", out of fold")]
    planned[:] = [Step.READ, *chosen, *levels, Step.THRESHOLDS, Step.WRITE]
    done = train(sources, output, learning, on=on, oof=oof, history=history, acceptance=acceptance, run=run)
    seconds = {name_of(step): value for step, value in done.seconds.items()}
    detail("seconds: " + ", ".join(f"{step} {value:.2f}" for step, value in seconds.items()))
    output_report(replace(done, seconds=seconds), as_json, (lambda _: None) if is_quiet() else _print_report)
    if done.acceptance is not None and not done.acceptance.accepted:
        stays = "stays" if output.exists() else "is not made"
        raise RejectedError(f"{output} {stays}: {done.acceptance.verdict}")


def _refuse_on_cluster(sources: Sources, options: Options) -> None:
    """Raise UsageError where an option is not for a cluster."""
    others = ["features"] * (options.features not in (None, LINEAR)) + ["loss"] * (
        options.loss not in (None, DEFAULT_LOSS)
    )
    others += ["reviewed", "fully_labelled", "implied", "groups", "same_fold", "label_features", "oof"]
    refuse_set(others, "{} and --cluster exclude each other; leave out one of the two.")
    if STANDARD_STREAM in files_of(sources.file):
        raise click.UsageError("Workers of a cluster cannot read standard input: give a file.")


def default_model(source: str) -> Path:
    """Name the model after the data: news.svm.gz gives news.mpu, beside it; a URL gives one in this directory."""
    return (Path() if is_url(source) else Path(source).parent) / f"{stem(source)}.mpu"
