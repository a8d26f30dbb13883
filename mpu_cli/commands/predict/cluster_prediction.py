"""Predict files by a cluster, each by one worker: ``mpu predict --cluster``."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from mpu_cli import bundle
from mpu_cli.bundle import MANIFEST, TrainedModel
from mpu_cli.cluster.address import OnCluster
from mpu_cli.cluster.reading import State, absolute, refuse_other, state_of
from mpu_cli.commands.predict.prediction import Report, predict
from mpu_cli.commands.predict.psp_order import ordered_by_psp
from mpu_cli.errors import ModelError
from mpu_cli.runtime.files import checksum
from mpu_cli.runtime.run import DEFAULT_RUN, Run


@dataclass(frozen=True)
class ModelFiles:
    """A model that all workers can read.

    Attributes
    ----------
    path : Path
    sha256 : str
        Of its manifest, which tells it from others of that name.
    by_psp : bool
        Whether its scores are probability / propensity.
    """

    path: Path
    sha256: str
    by_psp: bool

    @classmethod
    def of(cls, model: Path, by_psp: bool = False) -> "ModelFiles":
        """Name a model for all workers."""
        return cls(model.absolute(), checksum(model / MANIFEST), by_psp)


def predict_files(
    model: Path,
    targets: Mapping[str, Path],
    *,
    on: OnCluster,
    by_psp: bool = False,
    tick: Callable[[], None] = lambda: None,
    run: Run = DEFAULT_RUN,
    **options: Any,
) -> Report:
    """Predict files, each of which, as the model and the places of the predictions, all workers can reach.

    Parameters
    ----------
    model : Path
    targets : mapping of str to Path
        Where the predictions of each file go.
    on : OnCluster
    by_psp : bool
        Write probability / propensity; see `psp_order`.
    tick : callable
        Called once per file.
    run : Run
    **options
        As for `prediction.predict`.

    Raises
    ------
    ClusterError
        The cluster cannot be reached, cannot be used, or has failed.
    MpuError
        As for `prediction.predict`; the predictions of other files may be there then, each of them whole.
    """
    meant = ModelFiles.of(model, by_psp)
    files = {absolute(source): target.absolute() for source, target in targets.items()}
    with on.connected() as executor:
        done = [
            executor.submit(_predict, meant, file, state_of(file), target, options, run.on_a_worker())
            for file, target in files.items()
        ]
        executor.wait(done, tick)
        return sum(executor.gather(done), Report())


def _predict(
    model: ModelFiles, source: str, state: State | None, target: Path, options: dict[str, Any], run: Run
) -> Report:
    refuse_other(source, state)
    return predict(loaded(model), source, target, run=run, **options)


@lru_cache(maxsize=1)
def loaded(model: ModelFiles) -> TrainedModel:
    """Load a model once for all files that a worker predicts."""
    found = bundle.load(model.path)
    if checksum(model.path / MANIFEST) != model.sha256:
        raise ModelError(f"{model.path}: is another model than when the work began")
    return ordered_by_psp(found, model.path) if model.by_psp else found
