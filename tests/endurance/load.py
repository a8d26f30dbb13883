"""Many `mpu predict` at a time with a model that is trained again and again.

Run as ``python -m tests.endurance.load --processes 50 --seconds 600``. The model is trained on one half of the data and
the other in turn. Every prediction must succeed and be, to the byte, that of one of the two models.
"""

import time
from collections import Counter
from itertools import cycle
from pathlib import Path

from tests.endurance.commands import FORMATS, Trainings, run_as_command


def predict_while_training(processes: int, seconds: float, folder: Path) -> Counter:
    """Keep so many predictions under way for so long, while the model changes, and until a training has ended.

    Count how many models were trained, and how many predictions were made with the one and the other.
    """
    trainings = Trainings(folder)
    done = Counter()
    halves = cycle((0, 1))
    forms = cycle(FORMATS)
    training = trainings.start_training(next(halves))
    slots: list = [None] * processes
    outputs = [folder / f"output{slot}.txt" for slot in range(processes)]
    end = time.monotonic() + seconds
    going_on = True
    while going_on or any(slots):
        going_on = time.monotonic() < end or not done["trainings"]
        if going_on and not training.is_alive():
            trainings.finish(training)
            done["trainings"] += 1
            training = trainings.start_training(next(halves))
        for slot, output in enumerate(outputs):
            if slots[slot] is not None and not slots[slot][0].is_alive():
                process, form = slots[slot]
                trainings.finish(process)
                half = [predicted[form] for predicted in trainings.predictions].index(output.read_bytes())
                done[f"predictions with model {half}"] += 1
                slots[slot] = None
            if going_on and slots[slot] is None:
                form = next(forms)
                slots[slot] = trainings.start_predicting(form, output), form
        time.sleep(0.01)
    trainings.finish(training)
    return done


if __name__ == "__main__":
    run_as_command(predict_while_training, __doc__, processes=50, seconds=60.0)
