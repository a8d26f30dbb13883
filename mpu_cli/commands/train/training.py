"""Train a model on a file: ``mpu train``."""

import logging
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from mpu_cli import bundle, methods
from mpu_cli.commands.train.history import append, refuse_unappendable
from mpu_cli.commands.train.out_of_fold import write_out_of_fold
from mpu_cli.commands.train.warm_start import match
from mpu_cli.core.select.warm_start import WarmStart
from mpu_cli.errors import counted, without_secrets
from mpu_cli.runtime.files import refuse_overlaps
from mpu_cli.runtime.parallel import in_background
from mpu_cli.runtime.resume import KeptSteps, fingerprint, folder_of, keep_steps
from mpu_cli.runtime.run import DEFAULT_RUN, Run
from mpu_cli.svmlight.streams import refuse_unwritable
from mpu_cli.text.packed import packed
from mpu_cli.text.sidecars import Sidecars
from mpu_cli.training import provenance
from mpu_cli.training.label_features import known_features, refuse_idle_prior, with_label_features
from mpu_cli.training.training_data import ReviewCounts, Sources, read_training_data

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Report:
    """What `train` did.

    Attributes
    ----------
    model : Path
        The directory that was written.
    method : str
    instances, features, labels : int
        How many there are; of features, those that occur.
    never_annotated : int
        How many of the labels are known by their names or features alone.
    findings : dict
        What the method found: JSON values.
    thresholds : dict
        The threshold of each label, by its number.
    review : ReviewCounts or None
        What was found in review files.
    seconds : dict
        Wall time of each step.
    warnings : tuple of str
        What the user should know before trusting the model.
    cluster : dict or None
        Of a training on a cluster: numbers of parts, of shards that learned side by side, of rounds after each of which
        the mean of their models was taken, of workers at the end, and of bytes that these had sent to each other and
        here; None where they could no longer be asked.
    """

    model: Path
    method: str
    instances: int
    features: int
    labels: int
    never_annotated: int
    findings: dict[str, Any]
    thresholds: dict[int, float]
    review: ReviewCounts | None
    seconds: dict[str, float]
    warnings: tuple[str, ...]
    cluster: dict[str, int | None] | None = None


def train(
    sources: Sources,
    target: Path,
    method: str = methods.DEFAULT,
    options: Any = None,
    *,
    warm_start: Path | None = None,
    resume: bool = False,
    wait: float = 0,
    out_of_fold: Path | None = None,
    history: Path | None = None,
    run: Run = DEFAULT_RUN,
) -> Report:
    """Learn a model of all labels of files, and write it.

    An existing model is replaced only when the new one is complete.

    Parameters
    ----------
    sources : Sources
    target : Path
        The model, a directory.
    method : str
        One of `methods.INDUCTIVE`.
    options : object, optional
        An instance of the method's options; its `c` may be the Path of a file. Default: with their defaults.
    warm_start : Path, optional
        An earlier model whose weights training starts from.
    resume : bool
        Keep finished steps beside the model until it is saved, and take over those of an interrupted training.
    wait : float
        Seconds to wait for another training of the same model to end.
    out_of_fold : Path, optional
        Where to write predictions of the instances of the file by models that have not seen them.
    history : Path, optional
        A file to which a line about this training is added.
    run : Run

    Returns
    -------
    Report

    Raises
    ------
    InputError
        The data, or the file of label frequencies, cannot be read.
    BusyError
        Another training is at work there.
    MpuError
        The method cannot learn from the data, or the model cannot be written.
    """
    given = asked = methods.METHODS[method].options() if options is None else options
    frequencies = getattr(asked, "c", None)
    frequencies = frequencies if isinstance(frequencies, Path) else None
    outputs = {
        "--output": target,
        "--cache": sources.cache,
        "--resume": folder_of(target) if resume else None,
        "--oof": out_of_fold,
        "--history": history,
    }
    inputs = {**sources.by_option(), "--c": frequencies, "--warm-start": warm_start}
    refuse_overlaps(inputs, outputs, ("--output", "--warm-start", "--resume"))
    refuse_unwritable(out_of_fold)
    if history is not None:
        refuse_unappendable(history)
    with ExitStack() as stack:
        save = stack.enter_context(bundle.writer(target, wait))
        start, source = time.perf_counter(), provenance.Source.of(sources.file)
        with run.step("read"):
            sidecars = Sidecars(sources.file)
            data = read_training_data(sources, run, sidecars)
            kept = sidecars.vectorizer(data.of_file)
            if "label_features" in methods.METHODS[method].takes:
                data = with_label_features(data, sources, kept, run)
        described = in_background(source.described)  # while models are learned
        labels, ids = data.labels, data.ids
        seconds = {"read": time.perf_counter() - start}

        if frequencies is not None:
            asked = replace(asked, c=data.frequencies_of(frequencies))
        asked = data.known_of(asked)
        refuse_idle_prior(getattr(asked, "prior", None), data.label_features)
        begin = None if warm_start is None else _begin(warm_start, asked.levels, data.features, ids)
        steps = None
        if resume:
            key = fingerprint(run, method, data.features, labels, asked, begin)
            steps = stack.enter_context(resumed(target, key + " out of fold" * (out_of_fold is not None)))
            run = replace(run, journal=steps)
        fitted = methods.fit(
            method, data.features, labels, asked, run, start=begin, hold_out_all=out_of_fold is not None
        )

        known = known_features(data.features, data.label_features, fitted)
        start = time.perf_counter()
        with run.step("write"):
            if out_of_fold is not None:
                assert fitted.out_of_fold is not None  # of a method that takes it
                thresholds = fitted.model.thresholds
                write_out_of_fold(out_of_fold, fitted.out_of_fold, thresholds, ids, data.of_file)
            record = methods.record(asked, run, fitted)
            vectorizer = None if kept is None else packed(kept)
            counts = provenance.Counts.of(data.labels, data.known, fitted.c)
            told = provenance.of_files(sources, described.result(), counts, given, fitted, run, warm_start)
            names = data.model_names()
            save(bundle.TrainedModel(method, fitted.model, ids, fitted.c, known, record, names, vectorizer, told))
        if steps is not None:
            steps.remove()
    report = Report(
        target,
        method,
        len(data),
        len(known.indices),
        len(ids),
        len(data.never_annotated),
        fitted.findings,
        dict(zip(ids.tolist(), fitted.model.thresholds.tolist(), strict=True)),
        data.review,
        seconds | fitted.seconds | {"write": time.perf_counter() - start},
        (*([] if data.review is None else data.review.cautions()), *fitted.warnings),
    )
    if history is not None:
        append(history, remembered(report, sources, labels.nnz))
    return report


def remembered(report: Report, sources: Sources, annotations: int) -> dict[str, Any]:
    """Return the line about a training in a history."""
    findings = report.findings
    c = findings.get("c")
    return {
        "time": provenance.now(),
        "model": str(report.model),
        "file": without_secrets(str(sources.file)),
        "method": report.method,
        "instances": report.instances,
        "features": report.features,
        "labels": report.labels,
        "annotations": int(annotations),
        "c": float(np.mean(c)) if isinstance(c, list) else c,
        "c_estimated": findings.get("c_estimated"),
        "c_interval": findings.get("c_interval"),
        "expected_micro_f1": findings.get("expected_micro_f1"),
        "seconds": round(sum(report.seconds.values()), 3),
        "warnings": list(report.warnings),
        **({} if report.cluster is None else {"cluster": report.cluster}),
    }


def _begin(path: Path, levels: int | None, features: csr_array, ids: np.ndarray) -> WarmStart:
    begin, counts = match(path, levels, features, ids)
    said = [
        f"{what} {counts[f'{what}_shared']:,} known, {counts[f'{what}_new']:,} new, {counts[f'{what}_vanished']:,} gone"
        for what in ("labels", "features")
    ]
    _log.info(f"warm start: {'; '.join(said)}", extra={"counts": counts})
    return begin


@contextmanager
def resumed(target: Path, key: str) -> Iterator[KeptSteps]:
    """Keep finished steps beside a model, and say how many there were already."""
    with keep_steps(folder_of(target), key) as steps:
        if steps.found:
            message = f"{counted(steps.found, 'finished step')} taken over from an interrupted training"
            _log.info(message, extra={"counts": {"steps": steps.found}})
        yield steps
