"""Kill `mpu train --accept-on` and `mpu versions --restore` at random moments: nothing that was accepted is lost.

Run as ``python -m tests.endurance.versions --kills 100``. Trainings on the two halves of the digits follow each other,
some on too little, which are rejected; one in four is a version that is put back. Half of the kills come at any time,
half while something is written. After each kill the model must be a whole one that was accepted, and every version that
was there must be the same bytes; then a training must succeed and leave nothing but models.
"""

import json
import random
import signal
import time
from collections import Counter
from multiprocessing.process import BaseProcess
from pathlib import Path

from mpu_cli import bundle
from mpu_cli.bundle import Versions
from tests.endurance.commands import TRAINING, Trainings, model_files, run_as_command, start

KEEP = 4


def survive(kills: int, seed: int, folder: Path) -> Counter:
    """Kill trainings and restorations, and check what is left.

    Parameters
    ----------
    kills : int
        How many processes are killed; those that have ended before it comes to that do not count.
    seed : int
        Of the moments, and of what is done.
    folder : Path
        An empty directory for all files.

    Returns
    -------
    Counter
        How often what was killed, what it left, and how often trainings were accepted and rejected.
    """
    rng = random.Random(seed)
    nights = _Nights(folder, rng)
    seconds = max(nights.timed() for _ in range(3))
    found: Counter = Counter()
    while found["kills"] < kills:
        before = nights.versions()
        restores = rng.random() < 0.25 and len(before) > 1
        process = nights.start_restoring(rng.choice(list(before))) if restores else nights.start_night()
        if rng.random() < 0.5:
            nights.wait_until_written(process)
            process.join(rng.uniform(0, 0.02))
        else:
            process.join(rng.uniform(0, seconds))
        process.kill()
        process.join()
        if process.exitcode == -signal.SIGKILL:
            after = nights.check(before)
            what = "restoration" if restores else "training"
            found.update(["kills", f"{what} killed"] + ["new version"] * bool(after - set(before)))
            found["killed with something half-written"] += bool(nights.left_over())
        found[nights.night()] += 1
        assert not nights.left_over()
    return found


class _Nights(Trainings):
    """Trainings with test data, and what was accepted."""

    def __init__(self, folder: Path, rng: random.Random) -> None:
        super().__init__(folder)
        self.rng = rng
        self.number = 0
        self.poor = folder / "poor.svm"
        self.poor.write_text("".join(self.data[0].read_text().splitlines(keepends=True)[:20]))
        self.kept = Versions.of(self.model)

    def start_night(self) -> BaseProcess:
        """Start to train on one of the halves, or on too little; no two models are the same."""
        self.number += 1
        data = self.rng.choice([*self.data, *self.data, self.poor])
        options = ("--accept-on", self.test, "--keep", KEEP, "--seed", self.number)
        return start(self.log, "train", data, "-o", self.model, *TRAINING, *map(str, options))

    def start_restoring(self, version: int) -> BaseProcess:
        """Start to put a version back."""
        return start(self.log, "versions", self.model, "--restore", str(version), "--quiet")

    def timed(self) -> float:
        """Train, and return how many seconds that took."""
        begin = time.perf_counter()
        self.night()
        return time.perf_counter() - begin

    def wait_until_written(self, process: BaseProcess) -> None:
        """Wait until something is written."""
        while process.is_alive() and not self.left_over():
            pass

    def night(self) -> str:
        """Train without a kill; tell whether the model was accepted."""
        process = self.start_night()
        process.join()
        said, accepted = self.log.read_text(), process.exitcode == 0
        assert process.exitcode in (0, 3), said
        self.log.write_text("")
        assert accepted or "stays: " in said
        assert self.kept.number_of(self.model) is not None
        assert len(self.kept.numbers()) <= KEEP + 1 or not accepted  # a kill may leave one too many until then
        return "accepted" if accepted else "rejected"

    def versions(self) -> dict[int, dict[str, bytes]]:
        """Return the files of each version."""
        return {number: model_files(self.kept.path(number)) for number in self.kept.numbers()}

    def check(self, before: dict[int, dict[str, bytes]]) -> set[int]:
        """Check model and versions after a kill; return the numbers of the versions that are there."""
        bundle.load(self.model)
        in_use = self.kept.number_of(self.model)
        assert in_use is not None, "the model is none that was accepted"
        now = self.versions()
        for number, files in now.items():
            bundle.load(self.kept.path(number))
            assert files == before.get(number, files)
        lost = set(before) - set(now)
        assert len(now) > KEEP or not lost, f"versions {lost} are lost"
        lines = [json.loads(line) for line in (self.kept.folder / "history.jsonl").read_bytes().splitlines()]
        assert in_use in {line.get("version") for line in lines if not line.get("restored")}
        self.log.write_text("")
        return set(now)

    def left_over(self) -> list[str]:
        """Return the names of what is half-written."""
        beside = [path.name for path in self.kept.folder.glob(".mpu-*")]
        try:
            return beside + [path.name for path in (self.model / ".training").iterdir() if path.name != "lock"]
        except FileNotFoundError:
            return beside


if __name__ == "__main__":
    run_as_command(survive, __doc__, kills=100, seed=0)
