"""The values of options of train, predict, evaluate, estimate-c and corrupt, with odd files.

Usage: python -m fuzz.options [libFuzzer options] [corpus directories]
"""

from functools import partial

from fuzz import harness

with harness.instrumented():
    from mpu_cli.cli.actions import corrupt, evaluate, predict
    from tests import kernels
    from tests.cli.corpus import replay

LATE = corrupt, predict, evaluate  # which commands import when they run


def main() -> None:
    """Fuzz."""
    with kernels.default("numpy"), harness.folder() as path:
        harness.fuzz(partial(replay, folder=path))


if __name__ == "__main__":
    main()
