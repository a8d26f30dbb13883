"""Records of texts, and data files made of them.

Usage: python -m fuzz.texts [libFuzzer options] [corpus directories]
"""

from functools import partial

from fuzz import harness

with harness.instrumented():
    from tests import kernels
    from tests.text.corpus import replay_records


def main() -> None:
    """Fuzz."""
    with kernels.default("numpy"), harness.folder() as path:
        harness.fuzz(partial(replay_records, folder=path))


if __name__ == "__main__":
    main()
