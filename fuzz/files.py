"""What reads the files of others: each input is a file, or changes to files.

Usage: python -m fuzz.files TARGET [libFuzzer options] [corpus directories], with a TARGET of `TARGETS`.
"""

import logging
import sys
from functools import partial

from fuzz import harness

with harness.instrumented():
    from tests import kernels
    from tests.bundle.corpus import replay as replay_model
    from tests.evaluation.corpus import replay as replay_predictions
    from tests.names.corpus import replay as replay_names
    from tests.text.corpus import replay_directory, replay_records, replay_thesaurus

TARGETS = {
    "predictions": replay_predictions,  # what `mpu evaluate` reads: the truth and the predictions
    "models": replay_model,
    "texts": replay_records,  # and data files made of them
    "directories": replay_directory,  # beside a data file that was made of texts
    "names": replay_names,
    "thesauri": replay_thesaurus,
}


def main() -> None:
    """Fuzz."""
    logging.disable()  # what is left out is told in warnings
    replay = TARGETS[sys.argv.pop(1)]
    with kernels.default("numpy"), harness.folder() as path:
        harness.fuzz(partial(replay, folder=path))


if __name__ == "__main__":
    main()
