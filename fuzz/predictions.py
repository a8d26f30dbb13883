"""What `mpu evaluate` reads: the truth and the predictions.

Usage: python -m fuzz.predictions [libFuzzer options] [corpus directories]
"""

from functools import partial

from fuzz import harness

with harness.instrumented():
    from tests import kernels
    from tests.evaluation.corpus import replay


def main() -> None:
    """Fuzz."""
    with kernels.default("numpy"), harness.folder() as path:
        harness.fuzz(partial(replay, folder=path))


if __name__ == "__main__":
    main()
