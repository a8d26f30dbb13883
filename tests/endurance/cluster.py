"""Kill workers of a Dask cluster at random moments of a training, and start others in their place.

Run as ``python -m tests.endurance.cluster --kills 100``. Every training must end, and its model must be the one that
the same files give undisturbed.
"""

import random
import shutil
import threading
import time
from collections import Counter
from pathlib import Path

from dask import config

from mpu_cli.cli.actions.train import train
from mpu_cli.cluster import Address
from mpu_cli.inputs.training_data import TrainingFiles
from mpu_cli.svmlight.streams import Files
from tests.cluster.conftest import OPTIONS, write_parts
from tests.cluster.processes import Processes, wait
from tests.cluster.test_training import learned
from tests.endurance.commands import run_as_command


def survive(kills: int, seed: int, folder: Path) -> Counter:
    """Train while workers die, in an empty folder, and compare the models; count workers killed and models compared."""
    rng = random.Random(seed)
    dask, model = folder / "dask", folder / "model.mpu"
    dask.mkdir()
    sources = TrainingFiles(Files(write_parts(folder, 12)))
    processes = Processes(dask, workers=3)
    on = Address(processes.address)
    found: Counter = Counter()

    def trained() -> list[bytes]:
        with config.set({"mpu.timeout": 120}):
            train(sources, model, OPTIONS, on=on)
        found = learned(model)
        shutil.rmtree(model)
        return found

    try:
        undisturbed = trained()
        begin = time.perf_counter()
        trained()
        seconds = time.perf_counter() - begin
        while found["kills"] < kills:
            done = threading.Event()

            def kill(done: threading.Event = done) -> None:
                while not done.wait(rng.uniform(0, seconds)):
                    processes.add()  # before, and it is waited for: workers must live longer than they take to start
                    wait(lambda: done.is_set() or len(processes.client.nthreads()) == len(processes.workers))
                    processes.kill_worker(rng.randrange(3))
                    found["kills"] += 1

            killer = threading.Thread(target=kill)
            killer.start()
            try:
                assert trained() == undisturbed
            finally:
                done.set()
                killer.join()
            found["models, all the same bytes"] += 1
    finally:
        processes.close()
    return found


if __name__ == "__main__":
    run_as_command(survive, __doc__, kills=100, seed=0)
