"""Read and learn what `mpu complete` looks at by a cluster: ``mpu complete --cluster``."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import numpy as np
from scipy.sparse import csr_array, vstack

from mpu_cli.cluster.address import OnCluster
from mpu_cli.cluster.reading import absolute, placed_labels
from mpu_cli.commands.complete.completion_data import Prepare, Prepared
from mpu_cli.commands.train.cluster_training import NO_NAMES, Beside, connected
from mpu_cli.core.model.stacking import StackedModel
from mpu_cli.core.options import Options
from mpu_cli.core.train.training import Report
from mpu_cli.review.numbering import checksum_of_parts
from mpu_cli.runtime.executor import Executor, Handle
from mpu_cli.runtime.run import Run
from mpu_cli.svmlight.dataset import Dataset
from mpu_cli.svmlight.sources import files_of
from mpu_cli.training import provenance
from mpu_cli.training.training_data import Sources, TrainingData


def preparing(on: OnCluster) -> Prepare:
    """Return what prepares files as `completion_data.prepared_here` does, by a cluster.

    The sources are files, by names that all workers know, and names of labels. Labels and predictions are fetched. The
    features are not, but for their checksum: a part at a time passes through this process.

    Its errors are those of `completion_data.prepared_here`, and ClusterError where the cluster cannot be reached,
    cannot be used, or has failed.
    """
    return partial(_prepared, on)


@contextmanager
def _prepared(on: OnCluster, sources: Sources, options: Options, with_checksum: bool, run: Run) -> Iterator[Prepared]:
    from mpu_cli.cluster.training import learn, read_files

    with connected(on) as executor:
        collection = read_files(executor, list(map(absolute, files_of(sources.file))), sources.reading, run)
        with run.step("fetch labels"):
            placed = [executor.submit(placed_labels, part, collection.ids) for part in collection.data]
            labels = csr_array(vstack(executor.gather(placed), format="csr"))
            digits = _checksum(executor, collection.data) if with_checksum else None
        beside = Beside.of(sources, collection)
        none = csr_array((len(collection), 0), dtype=np.float32)

        def train(asked: Options, run: Run) -> tuple[StackedModel, Report]:
            model, report, _ = learn(collection, asked, run, on.shards, hold_out_all=True)
            return model, report

        yield Prepared(
            TrainingData(none, labels, collection.ids, names=beside.names),
            beside.vectorizer,
            digits,
            train,
            lambda _: collection.columns,
            provenance.Source.by_name(sources.file).described,
            (NO_NAMES,) if beside.names_are_idle(options) else (),
        )


def _checksum(executor: Executor, data: list[Handle]) -> str:
    """Return the checksum of the features of all parts."""

    def each(what: str) -> Iterator[np.ndarray]:
        for part in data:
            yield executor.gather([executor.submit(_of_features, part, what)])[0]

    return checksum_of_parts(each("sizes"), each("indices"), each("data"))


def _of_features(data: Dataset, what: str) -> np.ndarray:
    return np.diff(data.features.indptr) if what == "sizes" else getattr(data.features, what)
