"""Train a model on files, here or on a cluster, and report it: ``mpu train``.

A line in a history is a JSON object. A line cut short by a full disk or a power failure remains a separate line, which
readers report.
"""

import errno
import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import click
import numpy as np

from mpu_cli import bundle
from mpu_cli.bundle.predicting import select
from mpu_cli.bundle.writing import described_files, now
from mpu_cli.cli import messages
from mpu_cli.cli.messages import QUESTIONS, as_json, first_of_all, output_report, present, print_groups, print_lines
from mpu_cli.cli.options import Acceptance, refuse_overlaps, refuse_set
from mpu_cli.cluster import Address
from mpu_cli.core import stacking
from mpu_cli.core.loss import DEFAULT as DEFAULT_LOSS
from mpu_cli.core.options import LINEAR, STANDARDISED, Options
from mpu_cli.core.predictions import FEW_LABELS
from mpu_cli.core.selection import TrainingResult
from mpu_cli.errors import STANDARD_STREAM, MpuError, RejectedError, counted, shown, without_secrets
from mpu_cli.inputs.training_data import ClusterData, TrainingFiles, cluster_data, read_training_data
from mpu_cli.runtime import signals
from mpu_cli.runtime.options import options_of
from mpu_cli.runtime.run import DEFAULT_RUN, Run, in_background, peak_bytes
from mpu_cli.svmlight.streams import Files, compression_named, files_of, is_url, open_output, refuse_unwritable, stem
from mpu_cli.svmlight.writer import score_lines

# Fields of a report in a history, in this order; see `_line`.
_IN_HISTORY = (
    *("instances", "features", "labels", "annotations", "c", "c_estimated", "c_interval"),
    *("expected_micro_f1", "expected_micro_f1_interval", "seconds", "warnings"),
)

_EVERY_MODEL = Acceptance()


def train(
    sources: TrainingFiles,
    target: Path,
    options: Options,
    *,
    on: Address | None = None,
    oof: Path | None = None,
    history: Path | None = None,
    acceptance: Acceptance = _EVERY_MODEL,
    run: Run = DEFAULT_RUN,
) -> dict[str, Any]:
    """Learn a model of all labels in files, and write it.

    An existing model is replaced only when the new one is complete and, if requested, accepted. docs/reports.md
    describes the returned report.

    `sources`: with `on`, the workers read the data, by their full names; the model and the out-of-fold predictions
    are written here.
    `options`: `c` may be the Path of a file.
    `oof`, `history`: files for out-of-fold predictions, and for a line about this training.
    `acceptance`: the criterion for replacing the present model. Default: replace it by every model.
    `on`: the cluster whose workers read and learn. Default: this process does.
    """
    test = acceptance.accept_on
    inputs = {**sources.by_option(), "--c": options.c if isinstance(options.c, Path) else None, "--accept-on": test}
    refuse_overlaps(inputs, {"--oof": oof, "--history": history}, {"--output": target})
    refuse_unwritable(oof, history)
    if history is not None and (suffix := compression_named(history)):
        raise MpuError(
            f"{history}: lines are appended to a history, so it cannot be compressed; name it without {suffix}"
        )
    names = {"time": now(), "model": str(target), "file": without_secrets(str(sources.file))}
    seconds: dict[str, float] = {}
    run = run.timed(seconds)
    with nullcontext() if history is None else _with_failures(history, names), ExitStack() as stack:
        writer = stack.enter_context(bundle.Writer(target).held())
        gate = None
        if test is not None:
            from mpu_cli.cli.actions.gate import Gate  # imports the evaluation

            gate = Gate(acceptance, target, sources.reading, run)
        data = read_training_data(sources, run) if on is None else stack.enter_context(cluster_data(sources, on, run))
        if gate is not None:
            gate.refuse_unfit(data)
        described = in_background(described_files, sources.file, data.states, sources.others())  # while learning
        asked = data.resolved(options)
        if isinstance(data, ClusterData):
            from mpu_cli.cluster.training import train_by_workers

            predictor, result = train_by_workers(data.collection, asked, run)
        else:
            predictor, result = stacking.train(data, asked, run, hold_out_all=oof is not None)
        findings = data.findings(options, predictor, result)
        with run.step("writing the model"):
            if oof is not None:
                write_out_of_fold(oof, result, predictor.thresholds, data.ids, data.instances_of_file)
            model = data.assembled(predictor, result.chosen, findings, options, run, described.result())
            if gate is None:
                writer.save(model)
        warnings, outcome = data.warnings(result.chosen.estimates), None
        if gate is not None:
            outcome, of_test = gate.test(model, float(data.true_labels(result.chosen).sum()) / len(data))
            warnings += of_test
        thresholds = dict(zip(data.ids.tolist(), predictor.thresholds.tolist(), strict=True))
        different = set(thresholds.values())
        report = {
            "model": target,
            "instances": len(data),
            "features": len(model.occurring.indices),
            "labels": len(data.ids),
            **present(labels_never_annotated=len(data.never_annotated) or None, review=data.review),
            **findings,
            **present(advice=first_of_all(findings.get("c_assumption"), findings.get("c_interval"))),
            **({"thresholds": thresholds} if len(different) > 1 else {"threshold": different.pop()}),
            "seconds": seconds,
            "peak_bytes": peak_bytes(),
            **present(cluster=data.work() if isinstance(data, ClusterData) else None, acceptance=outcome),
            "warnings": warnings,
        }
        if gate is not None and _is_saved(report):
            writer.save(model, acceptance.keep)
    if history is not None:
        line = names | {"time": now()} | _line(report, int(data.annotations.sum()))
        with _after_saving(target) if _is_saved(report) else _before_failing():
            append(history, line)
    return report


# Number of out-of-fold predictions written at a time.
_ROWS = 4096


def write_out_of_fold(
    target: str | Path, result: TrainingResult, thresholds: np.ndarray, ids: np.ndarray, n: int
) -> None:
    """Write out-of-fold predictions of the first n instances, in the format of ``mpu predict --format both``.

    The file is written completely or not at all. `ids` are the labels, as written in files: int64, shape (q,).
    """
    predictions = result.held_out.probabilities
    with open_output(target) as out:
        for start in range(0, n, _ROWS):
            part = predictions[start : min(start + _ROWS, n)]
            cells = select(part, np.zeros_like(thresholds), None, ranked=True)
            ends = np.searchsorted(cells.rows, np.arange(part.shape[0] + 1))
            reach = cells.probabilities >= thresholds[cells.columns]
            out.write(score_lines(ends, ids[cells.columns], cells.probabilities, reach))


def _print_report(report: dict[str, Any]) -> None:
    lines = {
        "data": f"{counted(report['instances'], 'instance')}, {counted(report['features'], 'feature')}, "
        f"{counted(report['labels'], 'label')}"
    }
    if "labels_never_annotated" in report:
        lines["data"] += f", {report['labels_never_annotated']:,} of them never annotated"
    if "cluster" in report:
        lines["cluster"] = ", ".join(counted(n, of.removesuffix("s")) for of, n in report["cluster"].items())
    if (review := report.get("review")) is not None:
        lines["review"] = (
            f"{counted(review.decisions, 'decision')}: {counted(review.found, 'missing label')} found, "
            f"{counted(review.refuted, 'annotation')} rejected; {counted(review.closed, 'instance')} completely "
            f"reviewed, {review.sampled:,} of them at random"
        )
    if "advice" in report:
        lines = {"first of all": report["advice"], **lines}
    lines["c"] = _frequency(report)
    if "levels" in report:
        lines["levels"] = f"{report['levels']}"
        by_level = " and ".join(f"{f1:.3f}" for f1 in report["expected_micro_f1_by_level"])
        if " " in by_level and "cluster" not in report and report["labels"] <= FEW_LABELS:  # else of other instances
            lines["levels"] += f"; expected micro-F1 of one and of two: {by_level}"
    if "scaling" in report:
        by = "deviation" if report["scaling"] == STANDARDISED else "largest value"
        lines["features"] = f"each divided by its {by}"
    if "rbf_gamma" in report:
        landmarks = counted(report["rbf_landmarks"], "landmark")
        lines["features"] = f"of an RBF kernel by {landmarks}, gamma {report['rbf_gamma']:.3g}"
    if "labelled_only" in report:
        lines["learned"] = "from the instances with labels only"
    lines["loss"] = report["loss"]
    eta0 = f", eta0 {report['eta0']:g}" if "eta0" in report else ""
    lines["C"] = f"{report['cost']:g}{eta0}, {counted(report['epochs'], 'epoch')}"
    if isinstance(prior := report.get("prior"), float | int):
        lines["prior"] = f"weight {prior:g} of the features of labels" if prior else "none: label features do not help"
    thresholds = report["thresholds"].values() if "thresholds" in report else [report["threshold"]]
    low, high = min(thresholds), max(thresholds)
    lines["threshold"] = f"{low:.3f}" + f" to {high:.3f}" * (low < high)
    f1 = f"micro-F1 {report['expected_micro_f1']:.3f}"
    of_c = f"if {'each c' if isinstance(report['c'], list) else 'c'} is right"
    if (ends := report.get("expected_micro_f1_interval")) is not None:
        f1 += " ({:.3f} to {:.3f})".format(*ends)
        of_c = f"corrected for c{', whose interval is included' * report['c_estimated']}"
    lines["expected"] = f"{f1} on complete labels (out of fold, {of_c})"
    if (outcome := report.get("acceptance")) is not None:
        lines["accepted" if outcome["accepted"] else "rejected"] = outcome["verdict"]
    seconds, memory = sum(report["seconds"].values()), report["peak_bytes"] / 1e9
    lines["model"] = f"{report['model']} ({seconds:.1f} s, {memory:.1f} GB of memory)"
    print_lines(lines)
    print_groups(report.get("c_by_group"))


def _frequency(found: dict[str, Any]) -> str:
    """Describe c: from people's decisions, estimated from annotations alone, or set by the user."""
    c, by_people = found["c"], found.get("c_by_people")
    if by_people is not None:
        (low, high), alone = by_people["interval"], by_people["by_annotations_alone"]
        basis = [counted(by_people["answers"], "answer")] if "answers" in by_people else []
        if by_people["instances"] or not basis:
            basis.append(counted(by_people["instances"], "complete instance"))
        text = f"{by_people['c']:.3f} ({low:.3f} to {high:.3f}) from {' and '.join(basis)}, by label"
        where = " of the other instances" * bool(by_people["instances"])
        return text + ("" if alone is None else f"; from annotations{where} alone {alone:.3f}")
    if not found.get("c_known", True):
        values = f"by label, {min(c):.3f} to {max(c):.3f}" if isinstance(c, list) else f"{c:.3f}"
        why = f"people seem to have stopped at some number of labels; scores suggest, as what follows assumes, {values}"
        return f"unknown: {why}; to estimate it: {QUESTIONS}"
    interval = found.get("c_interval")
    ends = " ({:.3f} to {:.3f})".format(*interval) if interval else ""
    if isinstance(c, list):
        source = "estimated" if found["c_estimated"] else "set by the user"
        of_all = f"; of all labels {found['c_overall']:.3f}{ends}" if "c_overall" in found else ""
        return f"by label, {min(c):.3f} to {max(c):.3f}, {source}{of_all}"
    missing = f"{1 - c:.1%} of the true labels are missing"
    if found["c_estimated"]:
        more = ", or more if some are annotated more often than others"
        fewer = ", or fewer if features make no label certain" * (c < 1)
        return f"{c:.3f}{ends}, estimated: {missing}{more}{fewer}"
    return f"{c:.3f}{ends}, set by the user: {missing}"


def _line(report: dict[str, Any], annotations: int) -> dict[str, Any]:
    """Return a training's values for a history, without its names; c is the overall c, seconds cover all steps."""
    c, seconds = report.get("c_overall", report.get("c")), round(sum(report["seconds"].values()), 3)
    more = {"annotations": annotations, "c": float(np.mean(c)) if isinstance(c, list) else c, "seconds": seconds}
    line = {name: (report | more).get(name) for name in _IN_HISTORY} | report.get("acceptance", {})
    return line | present(cluster=report.get("cluster"))


def append(path: Path, entry: dict[str, Any]) -> None:
    """Append a complete line to a history, even if other training runs append theirs at the same time."""
    line = json.dumps(as_json(entry), allow_nan=False).encode() + b"\n"
    try:
        with path.open("ab+", buffering=0) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            is_regular = path.is_file()  # not a pipe or a device
            if is_regular and file.seek(0, os.SEEK_END) and os.pread(file.fileno(), 1, file.tell() - 1) != b"\n":
                line = b"\n" + line
            if file.write(line) != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            if is_regular:
                os.fsync(file)
    except OSError as error:
        raise MpuError(f"{path}: the history could not be written: {error.strerror}") from error


@contextmanager
def _with_failures(path: Path, names: dict[str, Any]) -> Iterator[None]:
    """Append a line to a history with the error or signal that ends the context, if any.

    `names`: its time, model and file.
    """

    def append_signal() -> None:
        if signals.ending is not None:
            append(path, names | {"error": signals.ending})

    try:
        with signals.finally_call(append_signal):
            yield
    except (MpuError, OSError, MemoryError) as error:
        with _before_failing():
            append(path, names | {"error": without_secrets(str(error)) or "out of memory"})
        raise


@contextmanager
def _after_saving(model: Path) -> Iterator[None]:
    """Say in an error that a model is saved."""
    try:
        yield
    except MpuError as error:
        raise MpuError(f"{model} is saved, but {error}") from error


@contextmanager
def _before_failing() -> Iterator[None]:
    """Print an error as a warning, since the command fails with another error."""
    try:
        yield
    except MpuError as error:
        messages.warn(str(error))


def _is_saved(report: dict[str, Any]) -> bool:
    return "acceptance" not in report or bool(report["acceptance"]["accepted"])


def command(
    sources: TrainingFiles,
    output: Path | None,
    options: Options,
    cluster: Address | None,
    acceptance: Acceptance,
    **how: Any,
) -> None:
    if output is None:
        if isinstance(sources.file, Files):
            raise click.UsageError("Several FILEs have no single name from which to name the model: give -o MODEL.")
        if sources.file == STANDARD_STREAM or str(Path(sources.file).parent) in ("/dev", "/dev/fd"):
            raise click.UsageError(f"{shown(sources.file)} has no name from which to name the model: give -o MODEL.")
        output = default_model(str(sources.file))
    if acceptance.accept_on is None:
        refuse_set(options_of(Acceptance), "{} needs --accept-on TEST.svm.")
    elif acceptance.accept_on == STANDARD_STREAM or Path(acceptance.accept_on).is_fifo():
        raise click.UsageError("--accept-on is read again for each model: it must be a file.")
    if cluster is not None:
        _refuse_on_cluster(sources, options)
    done = train(sources, output, options, on=cluster, acceptance=acceptance, **how)
    messages.detail("seconds: " + ", ".join(f"{step} {value:.2f}" for step, value in done["seconds"].items()))
    is_saved = _is_saved(done)
    with _after_saving(output) if is_saved else _before_failing():
        output_report(done, (lambda _: None) if messages.is_quiet() else _print_report)
    if not is_saved:
        stays = "stays" if output.exists() else "is not made"
        raise RejectedError(f"{output} {stays}: {done['acceptance']['verdict']}")


def _refuse_on_cluster(sources: TrainingFiles, options: Options) -> None:
    others = ["reviewed", "fully_labelled", "implied", "groups", "same_fold", "label_features", "oof"]
    refuse_set(others, "{} and --cluster exclude each other; leave out one of the two.")
    for name, value, only in ("features", options.features, LINEAR), ("loss", options.loss, DEFAULT_LOSS):
        if value not in (None, only):
            raise click.UsageError(f"--{name} {value} is not for --cluster, which trains only with --{name} {only}.")
    if STANDARD_STREAM in files_of(sources.file):
        raise click.UsageError("Workers of a cluster cannot read standard input: give a file.")


def default_model(source: str) -> Path:
    """Name the model after the data: news.mpu beside news.svm.gz; in this directory for a URL."""
    return (Path() if is_url(source) else Path(source).parent) / f"{stem(source)}.mpu"
