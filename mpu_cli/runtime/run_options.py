"""The options of a run. They stand apart from `Run` so that help texts need no NumPy."""

from dataclasses import dataclass

from mpu_cli.runtime.kernels import NAMES
from mpu_cli.runtime.options import AUTO, Threads, Whole, WordOr, Words, option


@dataclass(frozen=True)
class RunOptions:
    """What people choose of a run. Only seed and kernel have an effect on what comes out."""

    seed: int = option(Whole(0), 0, "Seed of the random numbers. The same seed gives the same result, byte for byte.")
    jobs: int = option(Threads(), -1, "Threads; -1 is one per core. The result does not depend on it.", letter="j")
    kernel: str | None = option(
        WordOr((AUTO,), Words(NAMES)),
        None,
        "Inner loops: NumPy's, or compiled ones (numba). auto takes numba where it is installed. Their results agree "
        "up to rounding. Machine code is kept in the directory NUMBA_CACHE_DIR if that is set, or with the package, or "
        "in ~/.cache.",
    )
