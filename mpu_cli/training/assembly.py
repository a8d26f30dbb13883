"""Read a training set, here or by a cluster, and put together the model that was learned from it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from mpu_cli import methods
from mpu_cli.bundle import TrainedModel
from mpu_cli.cluster.address import OnCluster
from mpu_cli.cluster.reading import absolute
from mpu_cli.methods import Fitted
from mpu_cli.runtime.run import Run
from mpu_cli.svmlight.sources import files_of
from mpu_cli.text.packed import packed
from mpu_cli.text.sidecars import Sidecars
from mpu_cli.training import provenance
from mpu_cli.training.cluster_data import ClusterData
from mpu_cli.training.label_features import with_label_features
from mpu_cli.training.training_data import Sources, TrainingSet, read_training_data


@contextmanager
def training_set(
    sources: Sources,
    run: Run,
    on: OnCluster | None = None,
    method: str | None = methods.DEFAULT,
    is_read_again: bool = False,
) -> Iterator[TrainingSet]:
    """Read files, to learn from them as long as the context lasts.

    Parameters
    ----------
    sources : Sources
        On a cluster: files, by names that all workers know, and names of labels.
    run : Run
    on : OnCluster, optional
        Where workers read and learn. Default: this process does.
    method : str or None
        That will learn from them; None: no model is learned, and the vectoriser beside the data is not looked at.
    is_read_again : bool
        Whether the file will be read a second time, so that its checksum is wanted; not on a cluster.

    Raises
    ------
    InputError
        A file cannot be read, no instance has a label, or a review or the names beside the data do not fit them.
    ClusterError
        The cluster cannot be reached, cannot be used, or has failed.
    """
    if on is not None:
        for file in files_of(sources.file):
            absolute(file)  # what no worker can read is refused before a cluster is started
        with on.connected() as executor:
            yield ClusterData.read(executor, sources, on.shards, run, with_texts=method is not None)
        return
    with run.step("read"):
        sidecars = Sidecars(sources.file)
        if is_read_again:
            sidecars.contents.setdefault(str(sources.file))
        data = read_training_data(sources, run, sidecars)
        data = replace(data, file_content=sidecars.contents.get(str(sources.file)))
        if method is not None:
            data = replace(data, vectorizer=sidecars.vectorizer(data.of_file))
            if "label_features" in methods.METHODS[method].takes:
                data = with_label_features(data, sources, run)
    yield data


def assembled(
    data: TrainingSet, fitted: Fitted, method: str, options: Any, run: Run, files: dict[str, Any] | None = None
) -> TrainedModel:
    """Put together a model, with all that is saved of it.

    Parameters
    ----------
    data : TrainingSet
        That it was learned from.
    fitted : Fitted
    method : str
    options : object
        As the user gave them.
    run : Run
    files : dict, optional
        From `provenance.of_files`; of arrays there are none.
    """
    return TrainedModel(
        method=method,
        predictor=fitted.model,
        label_ids=data.ids,
        c=fitted.c,
        occurring=data.features_of(fitted),
        options=methods.record(options, run, fitted),
        names=None if data.names is None else data.names.only(data.ids.tolist()),
        vectorizer=None if data.vectorizer is None else packed(data.vectorizer),
        origin=provenance.record(data.counts(fitted), options, run, files or {}),
    )
