"""Kill `mpu train --resume` at random moments, some trainings more than once, and let it finish.

Run as ``python -m tests.endurance.resume --kills 30``. Whatever the kills have left, valid steps, half of one or none,
the model must be the bytes of an undisturbed training, and nothing else must be left.
"""

import random
import shutil
import signal
import time
from collections import Counter
from pathlib import Path

from mpu_cli.runtime.checkpoint_files import folder_of
from tests.endurance.commands import DIGITS, model_files, run_as_command, start

# A small sample, so that c and C, which are a step each, do not take most of the time.
QUICK = ("--sample", "200", "--epochs", "5", "-j", "2", "--kernel", "numpy", "--quiet")
TRAINING = ("train", DIGITS / "digits-train.svm", *QUICK)


def survive(kills: int, seed: int, folder: Path) -> Counter:
    """Kill trainings, go on with them, and compare the models.

    Parameters
    ----------
    kills : int
        How many processes are killed; those that have ended before it comes to that do not count.
    seed : int
        Of the moments.
    folder : Path
        An empty directory for all files.

    Returns
    -------
    Counter
        How many kills there were, how many steps they found kept, and how many models were compared.
    """
    rng = random.Random(seed)
    log, model = folder / "log.txt", folder / "model.mpu"
    steps = folder_of(model)

    def finish() -> dict[str, bytes]:
        process = start(log, *TRAINING, "-o", model, "--resume")
        process.join()
        assert (process.exitcode, log.read_bytes()) == (0, b"")
        made = model_files(model)
        shutil.rmtree(model)
        assert set(folder.iterdir()) == {log}
        return made

    finish()  # the first one loads what the others find loaded
    begin = time.perf_counter()
    undisturbed = finish()
    seconds = time.perf_counter() - begin
    found = Counter()
    while found["kills"] < kills:
        process = start(log, *TRAINING, "-o", model, "--resume")
        process.join(rng.uniform(0, seconds))
        process.kill()
        process.join()
        if process.exitcode == -signal.SIGKILL:
            kept = len(list(steps.glob("*.npz")))
            found.update(["kills", f"kills with {kept:2} steps kept"])
            found["kills while a step was written"] += any(steps.glob(".writing-*"))
        if process.exitcode == 0 or rng.random() < 0.5:
            assert finish() == undisturbed
            found["models, all the same bytes"] += 1
    assert finish() == undisturbed
    return found


if __name__ == "__main__":
    run_as_command(survive, __doc__, kills=30, seed=0)
