"""Kill `mpu train` at random moments, and look each time whether the model is whole.

Run as ``python -m tests.endurance.kills --kills 200``. Half of the kills come at any time of a training, half while it
writes; about every fifth hits the first training of a model. After each kill the old model must predict the same bytes,
or the new one if it is in place already; then a training must succeed and leave nothing but its model.
"""

import random
import shutil
import signal
import time
from collections import Counter
from pathlib import Path

from tests.endurance.commands import FORMATS, Trainings, model_files, run_as_command

PHASES = ("training", "writing")


def survive(kills: int, seed: int, folder: Path) -> Counter:
    """Kill so many trainings, in an empty folder, and check what is left; the seed draws the moments.

    Count how often each phase was hit, each state of the model found, and what had been left.
    """
    rng = random.Random(seed)
    trainings = Trainings(folder)
    usual = set(folder.iterdir())
    seconds = {phase: _seconds(trainings, phase) for phase in PHASES}
    found = Counter()
    old: int | None = 1
    while found["kills"] < kills:
        if rng.random() < 0.2:
            shutil.rmtree(trainings.model)
            old = None
        new = rng.randrange(2) if old is None else 1 - old
        time_before = None if old is None else trainings.model.stat().st_mtime_ns
        (phase,) = rng.choices(PHASES, weights=(1, 2))  # many have done writing when the kill comes
        if _kill(trainings, new, phase, rng.uniform(0, seconds[phase])):
            state = _state(trainings, old, new)
            found.update(["kills", f"while {phase}", f"{state} model", *_left_over(trainings)])
            if state == "old" and trainings.model.stat().st_mtime_ns != time_before:
                found["time changed"] += 1
        trainings.finish(trainings.start_training(new))
        assert _state(trainings, old, new) == "new"
        assert model_files(trainings.model) == trainings.models[new]
        assert set(folder.iterdir()) == usual
        old = new
    return found


def _seconds(trainings: Trainings, phase: str) -> float:
    """Measure how long a phase takes, the longer of two times."""
    longest = 0.0
    for half in (0, 1):
        process = trainings.start_training(half)
        _wait_for(trainings, process, phase)
        start = time.perf_counter()
        trainings.finish(process)
        longest = max(longest, time.perf_counter() - start)
    return longest


def _wait_for(trainings: Trainings, process, phase: str) -> None:
    """Wait until a training begins to write, if that is the phase."""
    workshop = trainings.model / ".training"
    while phase == "writing" and process.is_alive():
        try:
            if any(entry.name != "lock" for entry in workshop.iterdir()):
                return
        except FileNotFoundError:
            pass


def _kill(trainings: Trainings, half: int, phase: str, delay: float) -> bool:
    """Start a training and kill it; tell whether it was still alive."""
    process = trainings.start_training(half)
    _wait_for(trainings, process, phase)
    end = time.perf_counter() + delay
    while time.perf_counter() < end:
        pass
    process.kill()
    process.join()
    return process.exitcode == -signal.SIGKILL


def _state(trainings: Trainings, old: int | None, new: int) -> str:
    """Tell which model is there, by all that it predicts."""
    if old is None and not (trainings.model / "manifest.json").exists():
        return "no"
    predicted = {form: trainings.predict(form) for form in FORMATS}
    if predicted == trainings.predictions[new]:
        return "new"
    assert old is not None and predicted == trainings.predictions[old], "neither the old model nor the new one"
    return "old"


def _left_over(trainings: Trainings) -> set[str]:
    """Tell what kinds of files a killed training has left beside those of a model."""
    whole = {name for model in trainings.models for name in model}
    files = model_files(trainings.model) if trainings.model.exists() else {}
    left = {"lock" if name.endswith("lock") else "temporary file" for name in files if name not in whole}
    arrays = [name for name in files if name.endswith(".npz") and name in whole]
    named = files.get("manifest.json", b"").decode()
    return {f"{kind} left" for kind in left | {"unnamed arrays" for name in arrays if name not in named}}


if __name__ == "__main__":
    run_as_command(survive, __doc__, kills=200, seed=0)
