"""Train a model on files by a cluster: ``mpu train --cluster``."""

import time
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from mpu_cli import bundle, methods
from mpu_cli.cluster.address import OnCluster
from mpu_cli.cluster.reading import absolute
from mpu_cli.commands.train.history import append, refuse_unappendable
from mpu_cli.commands.train.out_of_fold import write_out_of_fold
from mpu_cli.commands.train.training import Report, remembered, resumed
from mpu_cli.core.options import Options
from mpu_cli.core.train.mixing import rounds_of
from mpu_cli.errors import MpuError
from mpu_cli.methods import Fitted, mpu
from mpu_cli.names import LabelNames
from mpu_cli.runtime.files import refuse_overlaps
from mpu_cli.runtime.resume import fingerprint, folder_of
from mpu_cli.runtime.run import DEFAULT_RUN, Run
from mpu_cli.svmlight.sources import files_of
from mpu_cli.svmlight.streams import refuse_unwritable
from mpu_cli.text.packed import packed
from mpu_cli.text.sidecars import Sidecars
from mpu_cli.text.stored import Stored
from mpu_cli.training import provenance
from mpu_cli.training.frequencies import read_frequencies
from mpu_cli.training.training_data import Sources

if TYPE_CHECKING:
    from mpu_cli.cluster.dask_executor import DaskExecutor
    from mpu_cli.cluster.training import Collection


NO_NAMES = (
    "on a cluster, weights are not drawn towards the words of the names of labels, and labels that are never annotated "
    "do not belong to the model; --prior none says that this is meant"
)


@dataclass(frozen=True)
class Beside:
    """What there is beside files: names of labels, and the vectoriser that made the data, each perhaps None."""

    names: LabelNames | None = None
    vectorizer: Stored | None = None

    @classmethod
    def of(cls, sources: Sources, collection: "Collection") -> "Beside":
        """Look beside files."""
        sidecars = Sidecars(sources.file)
        names = sidecars.names_of(sources.naming, collection.ids)
        return cls(names, sidecars.vectorizer(len(collection)))

    def names_are_idle(self, options: Options) -> bool:
        """Whether the names would teach something on one machine."""
        return self.vectorizer is not None and self.names is not None and options.prior is None


NOTHING = Beside()


def train(
    sources: Sources,
    target: Path,
    options: Options | None = None,
    *,
    on: OnCluster,
    resume: bool = False,
    wait: float = 0,
    out_of_fold: Path | None = None,
    history: Path | None = None,
    run: Run = DEFAULT_RUN,
) -> Report:
    """Learn a model of all labels of files by the method mpu, and write it.

    The workers read the files, by their full names. The model is written here, and so are the predictions out of fold.

    Parameters
    ----------
    sources : Sources
        Files and names of labels only.
    on : OnCluster
    target, options, resume, wait, out_of_fold, history, run
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
    from mpu_cli.cluster.training import read_files

    given = asked = Options() if options is None else options
    frequencies = given.c if isinstance(given.c, Path) else None
    kept = folder_of(target) if resume else None
    outputs = {"--output": target, "--resume": kept, "--oof": out_of_fold, "--history": history}
    refuse_overlaps({**sources.by_option(), "--c": frequencies}, outputs, ("--output", "--resume"))
    refuse_unwritable(out_of_fold)
    if history is not None:
        refuse_unappendable(history)
    files = list(map(absolute, files_of(sources.file)))
    with ExitStack() as stack:
        save = stack.enter_context(bundle.writer(target, wait))
        executor = stack.enter_context(connected(on))
        start = time.perf_counter()
        collection = read_files(executor, files, sources.reading, run, on.shards)
        seconds = {"read": time.perf_counter() - start}
        ids, beside = collection.ids, Beside.of(sources, collection)
        if frequencies is not None:
            asked = replace(asked, c=read_frequencies(frequencies, ids, beside.names))
        steps = None
        if resume:
            key = fingerprint(run, collection.content, asked, on.shards, out_of_fold is not None)
            steps = stack.enter_context(resumed(target, key))
            run = replace(run, journal=steps)
        fitted, models = fit(collection, asked, run, on.shards, beside, hold_out_all=out_of_fold is not None)

        start = time.perf_counter()
        with run.step("write"):
            if out_of_fold is not None:
                predictions = fitted.out_of_fold
                assert predictions is not None
                write_out_of_fold(out_of_fold, predictions, fitted.model.thresholds, ids, len(collection))
            described = provenance.Source.by_name(sources.file).described()
            told = provenance.of_files(sources, described, counts_of(collection, fitted), given, fitted, run)
            save(trained(collection, asked, run, fitted, told, beside))
        if steps is not None:
            steps.remove()
        workers, moved = executor.workers, executor.moved_bytes
    done = Report(
        target,
        "mpu",
        len(collection),
        len(collection.columns.indices),
        len(ids),
        0,
        fitted.findings,
        dict(zip(ids.tolist(), fitted.model.thresholds.tolist(), strict=True)),
        None,
        seconds | fitted.seconds | {"write": time.perf_counter() - start},
        fitted.warnings,
        {"parts": len(collection.parts), **models, "workers": workers, "moved_bytes": moved},
    )
    if history is not None:
        append(history, remembered(done, sources, int(collection.annotations.sum())))
    return done


def fit(
    collection: "Collection",
    options: Options,
    run: Run,
    shards: int,
    beside: Beside = NOTHING,
    hold_out_all: bool = False,
) -> tuple[Fitted, dict[str, int]]:
    """Learn from all instances; return what was found, and how many shards and rounds there were."""
    from mpu_cli.cluster.training import learn

    model, report, n_shards = learn(collection, options, run, shards, hold_out_all)
    fitted = mpu.fitted(options, model, report)
    warnings = (*([NO_NAMES] if beside.names_are_idle(options) else []), *fitted.warnings)
    models = {"shards": n_shards, "rounds": rounds_of(n_shards, report.settings.epochs)}
    held_out = report.held_out.probabilities if hold_out_all else None
    return replace(fitted, warnings=warnings, seconds=report.seconds, out_of_fold=held_out), models


def counts_of(collection: "Collection", fitted: Fitted) -> provenance.Counts:
    """Count what there was to learn from."""
    return provenance.Counts(len(collection), collection.annotations, collection.annotations / fitted.c)


def trained(
    collection: "Collection", options: Options, run: Run, fitted: Fitted, told: bytes, beside: Beside = NOTHING
) -> bundle.TrainedModel:
    """Return what was learned, with what `provenance` tells of it and what there was beside the files, to be saved."""
    ids, record = collection.ids, methods.record(options, run, fitted)
    names = None if beside.names is None else beside.names.only(ids.tolist())
    vectorizer = None if beside.vectorizer is None else packed(beside.vectorizer)
    return bundle.TrainedModel(
        "mpu", fitted.model, ids, fitted.c, collection.columns, record, names, vectorizer, origin=told
    )


def connected(on: OnCluster) -> AbstractContextManager["DaskExecutor"]:
    """Connect with a cluster, or start one; errors as for `cluster.connection.connected`."""
    return _connection().connected(on.address, on.timeout)


def borrowed(client: Any, timeout: float = OnCluster.timeout) -> AbstractContextManager["DaskExecutor"]:
    """Use a client of somebody else; errors as for `cluster.connection.borrowed`."""
    return _connection().borrowed(client, timeout)


def _connection() -> ModuleType:
    try:
        from mpu_cli.cluster import connection
    except ImportError as error:
        raise MpuError(f"a cluster needs Dask; install it with: pip install distributed ({error})") from None
    return connection
