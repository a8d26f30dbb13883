"""No room on the disks of workers: an error that names the file, or the same bytes as always; never half a file."""

import os
import subprocess
import sys
from functools import partial

import pytest
from dask import config

from mpu_cli.cli.actions.train import train
from mpu_cli.errors import ClusterError
from tests.cli.training import QUICK
from tests.cluster.conftest import LARGE, OPTIONS, at
from tests.cluster.processes import wait, worker_with_room
from tests.folders import names
from tests.full_disk import fill

pytestmark = pytest.mark.slow  # processes or workers of their own
# The largest file that a worker may write: less than its predictions of a part, more than what units tell of parts.
ROOM = 2048
# Everything that is computed is put aside at once.
SPILLING = {"MEMORY__TARGET": "1e-9", "MEMORY__SPILL": "False", "MEMORY__PAUSE": "False"}
NUMPY = ("--kernel", "numpy")
ENVIRONMENT = {**os.environ, "DASK_MPU__TIMEOUT": "30"}


def failed(processes, reasons, *arguments) -> None:
    command = [sys.executable, "-m", "mpu_cli", *map(str, arguments), "--cluster", processes.address, *NUMPY, "-q"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=ENVIRONMENT)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert all(reason in done.stderr for reason in reasons)


def test_predictions_on_a_full_disk(run, files, processes, mounted, tmp_path):
    out, model = mounted / "out", tmp_path / "news.mpu"
    run.ok("train", *files, "-o", model, *NUMPY, "-q", *QUICK)
    out.mkdir()
    fill(mounted, 4096)
    reasons = "/out/part-", "No space left on device"
    failed(processes, reasons, "predict", model, *files, "-o", out, "--format", "scores")
    wait(lambda: all(name.startswith("part-") for name in names(out)))


def test_a_training_whose_workers_have_put_aside_as_much_as_they_can_fails(files, processes, tmp_path):
    for _ in range(2):
        processes.replace(partial(worker_with_room, ROOM), settings=SPILLING)
    model = tmp_path / "a.mpu"
    failed(processes, ["File too large; is its local directory full"], "train", *files, "-o", model, *LARGE)
    assert not model.exists()


def test_workers_that_have_no_memory_left_either_are_waited_for_and_told(sources, on, processes, tmp_path):
    settings = {"MEMORY__TARGET": "False", "MEMORY__SPILL": "False", "MEMORY__TERMINATE": "False"}
    for _ in range(2):
        processes.replace(settings=settings)

    def fill():
        def hold(dask_worker):
            dask_worker.memory_manager.memory_pause_fraction = 1e-9  # as if the rest were taken

        processes.client.run(hold)

    said = "the workers have had no memory left for 3 seconds"
    with config.set({"mpu.timeout": 3}), pytest.raises(ClusterError, match=said):
        train(sources, tmp_path / "a.mpu", OPTIONS, on=on, run=at("learning level 0", fill))
    assert not (tmp_path / "a.mpu").exists()
