"""Files of names, and the texts that stand for labels.

Usage: python -m fuzz.names [libFuzzer options] [corpus directories]
"""

from functools import partial

from fuzz import harness

with harness.instrumented():
    from tests.names.corpus import replay


def main() -> None:
    """Fuzz."""
    with harness.folder() as path:
        harness.fuzz(partial(replay, folder=path))


if __name__ == "__main__":
    main()
