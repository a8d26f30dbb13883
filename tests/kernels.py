"""Which kernels the tests run with."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from unittest.mock import patch

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.runtime import run

NUMBA = run.DEFAULT_RUN.compiled
AVAILABLE = ("numpy", "numba") if NUMBA else ("numpy",)


@contextmanager
def default(name: str) -> Iterator[None]:
    """Let a run that names no kernels take these."""
    with patch.object(run, "numba_installed", lambda: name == "numba"):
        yield


def compilations() -> list[Callable[[], object]]:
    """Return what compiles the fast kernels, or takes them from the cache, each some of them."""
    from mpu_cli.core.features import Features
    from mpu_cli.core.frequency.label_frequency import LabelFrequency
    from mpu_cli.core.loss import LOSSES
    from mpu_cli.core.sgd import LearningTask, Settings, Split
    from mpu_cli.core.validation import train_splits
    from mpu_cli.experiment.methods import make
    from mpu_cli.svmlight.reader import parse_block

    X, S = csr_array(np.ones((1, 2), np.float32)), csr_array(np.ones((1, 1), bool))
    features = Features.of(X)

    def learned(loss: str) -> None:
        task = LearningTask(features, S, LabelFrequency(np.ones(1)), Settings(loss=loss, epochs=1))
        model, _ = train_splits([Split(task, (np.arange(1),))])
        model.probabilities(features)

    return [
        partial(parse_block, b"0 1:1\n", 1, ""),
        *(partial(make(f"{name}:cost=1.0", run.Run()).fit, X, S) for name in ("m3l-linear", "m3l-rbf")),
        *(partial(learned, loss) for loss in LOSSES),
    ]
