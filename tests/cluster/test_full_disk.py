"""No room on the disks of workers: an error that names their directory, or the same bytes as always."""

import os
import subprocess
import sys
from dataclasses import replace

import pytest

from mpu_cli.cli.actions.train import train
from mpu_cli.errors import ClusterError
from mpu_cli.runtime.run import Run
from tests.cluster.conftest import LARGE, OPTIONS, at
from tests.cluster.processes import worker_with_room
from tests.endurance.commands import model_files

# The largest file that a worker may write: more than what units tell of parts.
ROOM = 2048
# Everything that is computed is put aside at once.
SPILLING = {"MEMORY__TARGET": "1e-9", "MEMORY__SPILL": "False", "MEMORY__PAUSE": "False"}


@pytest.mark.slow  # it starts workers of its own
@pytest.mark.parametrize("n_full", [1, 2])
def test_a_training_whose_workers_cannot_put_anything_aside_gives_the_same_bytes(
    sources, on, processes, tmp_path, n_full
):
    run = Run(kernel="numpy")
    train(sources, tmp_path / "a.mpu", OPTIONS, on=on, run=run)
    for _ in range(n_full):
        processes.replace(worker_with_room(0), settings=SPILLING)
    train(sources, tmp_path / "b.mpu", OPTIONS, on=on, run=run)
    assert model_files(tmp_path / "b.mpu") == model_files(tmp_path / "a.mpu")


@pytest.mark.slow  # it starts workers of its own
def test_a_training_whose_workers_have_put_aside_as_much_as_they_can_fails(files, processes, tmp_path):
    for _ in range(2):
        processes.replace(worker_with_room(ROOM), settings=SPILLING)
    model = tmp_path / "a.mpu"
    command = ["train", *files, "-o", model, *LARGE, "--kernel", "numpy", "--cluster", processes.address, "-q"]
    done = subprocess.run(
        [sys.executable, "-m", "mpu_cli", *map(str, command)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "DASK_MPU__TIMEOUT": "30"},
    )
    assert (done.returncode, done.stdout, model.exists()) == (1, "", False)
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: ")
    assert "File too large; is its local directory full" in line


@pytest.mark.slow  # it starts workers of its own
def test_workers_that_have_no_memory_left_either_are_waited_for_and_told(sources, on, processes, tmp_path):
    settings = {"MEMORY__TARGET": "False", "MEMORY__SPILL": "False", "MEMORY__TERMINATE": "False"}
    for _ in range(2):
        processes.replace(settings=settings)

    def fill():
        def hold(dask_worker):
            dask_worker.memory_manager.memory_pause_fraction = 1e-9  # as if the rest were taken

        processes.client.run(hold)

    with pytest.raises(ClusterError, match="the workers have had no memory left for 3 seconds"):
        train(sources, tmp_path / "a.mpu", OPTIONS, on=replace(on, timeout=3), run=at("level 0", fill))
    assert not (tmp_path / "a.mpu").exists()
