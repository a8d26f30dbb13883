"""The reader with one of the kernels: it must accept, refuse and explain what the reference grammar does.

The first byte of an input stands for the options; the others are the file. The compiled kernel runs with numba's
bounds checks, so that an access out of bounds is an error.

Usage: python -m fuzz.reading numpy|numba [libFuzzer options] [corpus directories]
"""

import os
import sys

from fuzz import harness

os.environ["NUMBA_BOUNDSCHECK"] = "1"  # before numba is imported

with harness.instrumented():
    from tests import kernels
    from tests.svmlight.corpus import replay


def main() -> None:
    """Fuzz."""
    with kernels.default(sys.argv.pop(1)):
        harness.fuzz(replay)


if __name__ == "__main__":
    main()
