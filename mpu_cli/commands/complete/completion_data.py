"""The data that `mpu complete` looks at, and how they are learned from."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

from mpu_cli.core.data.features import Columns
from mpu_cli.core.model.stacking import StackedModel
from mpu_cli.core.train.training import Options, train
from mpu_cli.core.train.training import Report as TrainingReport
from mpu_cli.methods import Fitted
from mpu_cli.review.numbering import checksum
from mpu_cli.runtime.run import Run
from mpu_cli.text.sidecars import Sidecars
from mpu_cli.text.stored import Stored
from mpu_cli.training import provenance
from mpu_cli.training.label_features import known_features, refuse_idle_prior, with_label_features
from mpu_cli.training.training_data import Sources, TrainingData, read_training_data


@dataclass(frozen=True)
class Prepared:
    """Data that have been read, and how they are learned from.

    Attributes
    ----------
    data : TrainingData
        Perhaps without features.
    vectorizer : Stored or None
        That which has made the data.
    checksum : str or None
        Of the features of the file, where it was asked for.
    train : callable
        Learn from the data as `core.train.training.train` does, and predict all instances out of fold.
    known_features : callable
        Return the features that a model knows.
    described : callable
        Return what `provenance.Source.described` says of the file.
    cautions : tuple of str
        What to know before trusting a model of these data.
    """

    data: TrainingData
    vectorizer: Stored | None
    checksum: str | None
    train: Callable[[Options, Run], tuple[StackedModel, TrainingReport]]
    known_features: Callable[[Fitted], Columns]
    described: Callable[[], dict[str, Any]]
    cautions: tuple[str, ...] = ()


# From files, the options of the training, and whether a checksum is needed.
Prepare = Callable[[Sources, Options, bool, Run], AbstractContextManager[Prepared]]


@contextmanager
def prepared_here(sources: Sources, options: Options, with_checksum: bool, run: Run) -> Iterator[Prepared]:
    """Read files, to learn from them in this process."""
    source = provenance.Source.of(sources.file)
    with run.step("read"):
        sidecars = Sidecars(sources.file)
        data = read_training_data(sources, run, sidecars)
        kept = sidecars.vectorizer(data.of_file)
        data = with_label_features(data, sources, kept, run)
    refuse_idle_prior(options.prior, data.label_features)
    yield Prepared(
        data,
        kept,
        checksum(data.features[: data.of_file]) if with_checksum else None,
        lambda asked, run: train(data.features, data.labels, asked, run, hold_out_all=True),
        lambda fitted: known_features(data.features, data.label_features, fitted),
        source.described,
    )
