"""Read what c is estimated from by a cluster: ``mpu estimate-c --cluster``."""

from functools import partial

from scipy.sparse import csr_array

from mpu_cli.cluster.address import OnCluster
from mpu_cli.cluster.reading import absolute
from mpu_cli.commands.complete.estimation import Read, Whole
from mpu_cli.commands.train.cluster_training import connected
from mpu_cli.core.select.sample import draw
from mpu_cli.runtime.run import Run
from mpu_cli.svmlight.sources import files_of
from mpu_cli.text.sidecars import Sidecars
from mpu_cli.training.training_data import Sources, TrainingData


def reading(on: OnCluster) -> Read:
    """Return what reads files as `estimation.read_all` does, by a cluster, and fetches the sample alone.

    The sources are files, by names that all workers know, and names of labels. Its errors are those of
    `estimation.read_all`, and ClusterError where the cluster cannot be reached, cannot be used, or has failed.
    """
    return partial(_read, on)


def _read(on: OnCluster, sources: Sources, sample: int, run: Run) -> tuple[TrainingData, Whole]:
    from mpu_cli.cluster.training import read_files

    with connected(on) as executor:
        collection = read_files(executor, list(map(absolute, files_of(sources.file))), sources.reading, run)
        with run.step("fetch the sample"):
            drawn = collection.instances()[0].fetch(draw(len(collection), sample, run.seed))
    n, names = len(collection), Sidecars(sources.file).names_of(sources.naming, collection.ids)
    data = TrainingData(csr_array(drawn.features.as_sparse()), drawn.labels, collection.ids, names=names)
    return data, Whole(n, n, collection.annotations, collection.annotations)
