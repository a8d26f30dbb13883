"""The directory beside a data file that was made of texts, and what reads it.

Usage: python -m fuzz.directories [libFuzzer options] [corpus directories]
"""

import logging
from functools import partial

from fuzz import harness

with harness.instrumented():
    from tests import kernels
    from tests.text.corpus import replay_directory


def main() -> None:
    """Fuzz."""
    logging.disable()  # what is left out is told in warnings
    with kernels.default("numpy"), harness.folder() as path:
        harness.fuzz(partial(replay_directory, folder=path))


if __name__ == "__main__":
    main()
