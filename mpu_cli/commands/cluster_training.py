"""Train a model on files by a cluster: ``mpu train --cluster``."""

import time
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from mpu_cli import bundle, methods
from mpu_cli.cluster.address import OnCluster
from mpu_cli.cluster.reading import absolute
from mpu_cli.commands import origin
from mpu_cli.commands.frequencies import read_frequencies
from mpu_cli.commands.history import append, refuse_unwritable
from mpu_cli.commands.text_input import kept_vectorizer
from mpu_cli.commands.training import Report, remembered, resumed
from mpu_cli.commands.training_data import Sources
from mpu_cli.core.options import Options
from mpu_cli.errors import MpuError
from mpu_cli.methods import mpu
from mpu_cli.runtime.files import refuse_overlaps
from mpu_cli.runtime.resume import fingerprint, folder_of
from mpu_cli.runtime.run import DEFAULT_RUN, Run
from mpu_cli.svmlight.sources import files_of
from mpu_cli.text.packed import packed

if TYPE_CHECKING:
    from mpu_cli.cluster.dask_executor import DaskExecutor


_NO_NAMES = (
    "on a cluster, weights are not drawn towards the words of the names of labels, and labels that are never annotated "
    "do not belong to the model; --prior none says that this is meant"
)


def train(
    sources: Sources,
    target: Path,
    options: Options | None = None,
    *,
    on: OnCluster,
    resume: bool = False,
    wait: float = 0,
    history: Path | None = None,
    run: Run = DEFAULT_RUN,
) -> Report:
    """Learn a model of all labels of files by the method mpu, and write it.

    The workers read the files, by their full names. The model is written here.

    Parameters
    ----------
    sources : Sources
        Files and names of labels only.
    on : OnCluster
    target, options, resume, wait, history, run
        As for `training.train`.

    Returns
    -------
    Report

    Raises
    ------
    ClusterError
        The cluster cannot be reached, cannot be used, or has failed.
    MpuError
        As for `training.train`.
    """
    from mpu_cli.cluster.training import learn, read_files

    given = asked = Options() if options is None else options
    frequencies = given.c if isinstance(given.c, Path) else None
    outputs = {"--output": target, "--resume": folder_of(target) if resume else None, "--history": history}
    refuse_overlaps({**sources.by_option(), "--c": frequencies}, outputs, ("--output", "--resume"))
    if history is not None:
        refuse_unwritable(history)
    files = list(map(absolute, files_of(sources.file)))
    with ExitStack() as stack:
        save = stack.enter_context(bundle.writer(target, wait))
        executor = stack.enter_context(connected(on))
        start = time.perf_counter()
        collection = read_files(executor, files, sources.reading, run)
        seconds = {"read": time.perf_counter() - start}
        ids, names = collection.ids, sources.naming.names_of(collection.ids, sources.file)
        kept = kept_vectorizer(sources.file, len(collection))
        if frequencies is not None:
            asked = replace(asked, c=read_frequencies(frequencies, ids, names))
        steps = None
        if resume:
            steps = stack.enter_context(resumed(target, fingerprint(run, collection.content, asked, on.shards)))
            run = replace(run, journal=steps)
        model, report, n_shards = learn(collection, asked, run, on.shards)
        fitted = mpu.fitted(asked, model, report)
        idle_names = kept is not None and names is not None and given.prior is None
        warnings = (*([_NO_NAMES] if idle_names else []), *fitted.warnings)

        start = time.perf_counter()
        with run.step("write"):
            counts = origin.Counts(len(collection), collection.annotations, collection.annotations / fitted.c)
            described = origin.Source.by_name(sources.file).described()
            told = origin.of_files(sources, described, counts, given, fitted, run)
            record = methods.record(asked, run, fitted)
            own_names = None if names is None else names.only(ids.tolist())
            vectorizer = None if kept is None else packed(kept)
            columns = collection.columns
            save(bundle.TrainedModel("mpu", model, ids, fitted.c, columns, record, own_names, vectorizer, told))
        if steps is not None:
            steps.remove()
        workers = executor.workers
    done = Report(
        target,
        "mpu",
        len(collection),
        len(columns.indices),
        len(ids),
        0,
        fitted.findings,
        dict(zip(ids.tolist(), model.thresholds.tolist(), strict=True)),
        None,
        seconds | report.seconds | {"write": time.perf_counter() - start},
        warnings,
        {"parts": len(collection.parts), "shards": n_shards, "workers": workers},
    )
    if history is not None:
        append(history, remembered(done, sources, int(collection.annotations.sum())))
    return done


def connected(on: OnCluster) -> AbstractContextManager["DaskExecutor"]:
    """Connect with a cluster, or start one; errors as for `cluster.dask_executor.connected`."""
    try:
        from mpu_cli.cluster import dask_executor
    except ImportError as error:
        raise MpuError(f"a cluster needs Dask; install it with: pip install distributed ({error})") from None
    return dask_executor.connected(on.address, on.timeout)
