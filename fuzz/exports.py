"""Exports of Label Studio, and the decisions that are made of them.

Usage: python -m fuzz.exports [libFuzzer options] [corpus directories]
"""

from functools import partial

from fuzz import harness

with harness.instrumented():
    from tests.review.corpus import replay


def main() -> None:
    """Fuzz."""
    with harness.folder() as path:
        harness.fuzz(partial(replay, folder=path))


if __name__ == "__main__":
    main()
