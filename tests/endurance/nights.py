"""Kill `mpu train --accept-on` at random moments: nothing that was accepted is lost, and readers see a complete model.

Run as ``python -m tests.endurance.nights --kills 100``. Trainings on the two halves of the digits follow each other,
some on too little, which are rejected; now and then the model before is put back, and two trainings start at once. A
third of the kills comes at any time, a third while something is written, a third while models are renamed. After each
kill, the model and those that are kept must be the same bytes as before, or one newer model must be before them; and a
prediction that began with the training must succeed. Then a training must succeed and leave nothing but models.
"""

import random
import shutil
import signal
import time
from collections import Counter
from multiprocessing.process import BaseProcess
from pathlib import Path

from mpu_cli import bundle
from mpu_cli.bundle.loading import manifest_of
from mpu_cli.bundle.writing import check_kept, kept
from tests.endurance.commands import FORMATS, TRAINING, Trainings, run_as_command, start
from tests.folders import model_files

KEEP = 4


def survive(kills: int, seed: int, folder: Path) -> Counter:
    """Kill so many trainings, in an empty folder, and check what is left; the seed draws moments and what is done.

    Count how often what was killed, what it left, and how often trainings were accepted and rejected.
    """
    rng = random.Random(seed)
    nights = _Nights(folder, rng)
    seconds = max(nights.timed() for _ in range(3))
    found: Counter = Counter()
    while found["kills"] < kills:
        before = nights.all_models()
        process = nights.start_night()
        reader = nights.start_predicting(rng.choice(FORMATS), folder / "read.txt")
        if (name := rng.choice([None, "", kept(nights.model, 1).name])) is None:
            process.join(rng.uniform(0, seconds))
        else:
            nights.wait_until_written(process, name)
            process.join(rng.uniform(0, 0.01))
        process.kill()
        process.join()
        if process.exitcode == -signal.SIGKILL:
            found["kills"] += 1
            found["killed with something half-written"] += bool(nights.left_over())
            found["killed with a gap in the numbers, or the present model kept already"] += nights.is_between()
            found["killed with a new model in place"] += nights.check(before)
        reader.join()
        assert reader.exitcode == 0, nights.log.read_text()
        found["predictions meanwhile"] += 1
        if rng.random() < 0.2:
            found["model before put back"] += nights.go_back()
        found.update(nights.night(at_once=rng.random() < 0.2))
    return found


class _Nights(Trainings):
    def __init__(self, folder: Path, rng: random.Random) -> None:
        super().__init__(folder)
        self.rng = rng
        self.number = 0
        self.poor = folder / "poor.svm"
        self.poor.write_text("".join(self.data[0].read_text().splitlines(keepends=True)[:20]))

    def start_night(self) -> BaseProcess:
        """Start to train on one of the halves, or on too little; no two models are the same."""
        self.number += 1
        data = self.rng.choice([*self.data, *self.data, self.poor])
        options = ("--accept-on", self.test, "--keep", KEEP, "--seed", self.number)
        return start(self.log, "train", data, "-o", self.model, *TRAINING, *map(str, options))

    def timed(self) -> float:
        begin = time.perf_counter()
        self.night()
        return time.perf_counter() - begin

    def wait_until_written(self, process: BaseProcess, beginning: str) -> None:
        while process.is_alive() and not any(name.startswith(beginning) for name in self.left_over()):
            pass

    def night(self, at_once: bool = False) -> list[str]:
        """Train without a kill, perhaps twice at once; say what became of each training."""
        before, processes = self.all_models(), [self.start_night() for _ in range(1 + at_once)]
        for process in processes:
            process.join()
        said, states = self.log.read_text(), [process.exitcode for process in processes]
        assert set(states) <= {0, 3, 75} and states != [75, 75], said
        assert not self.left_over()
        after, accepted = self.all_models(), states.count(0)
        assert after == [*after[:accepted], *before][: len(after)]
        assert len(after) >= min(len(before) + accepted, KEEP + 1)
        # A kill may leave one too many, or the present model twice, until one is accepted.
        assert not accepted or len(after) == len(check_kept(self.model, KEEP)) + 1 <= KEEP + 1
        self.log.write_text("")
        return [{0: "accepted", 3: "rejected", 75: "refused beside another"}[state] for state in states]

    def all_models(self) -> list[dict[str, bytes]]:
        """Return the files of the model and of those that are kept, the newest first; equal models once."""
        found: list[dict[str, bytes]] = []
        for path in (self.model, *check_kept(self.model, KEEP + 1)):
            bundle.load(path)
            files = model_files(path)
            named = files["manifest.json"].decode()
            files = {name: content for name, content in files.items() if name in named or name == "manifest.json"}
            found += [files] * (files not in found)
        return found

    def check(self, before: list[dict[str, bytes]]) -> bool:
        """Check the models after a kill; tell whether a new one is in place."""
        after = self.all_models()
        self.log.write_text("")
        if after == before:
            return False
        assert after[1:] == before[: len(after) - 1], "a model is lost or changed"
        assert len(after) >= min(len(before), KEEP) + 1, "a model is lost"
        return True

    def is_between(self) -> bool:
        """Whether a kill came between the first rename and that of the manifest."""
        numbers = [int(path.suffix[1:]) for path in check_kept(self.model, KEEP + 1)]
        twice = manifest_of(kept(self.model, 1)) == manifest_of(self.model)
        return twice or numbers != list(range(1, len(numbers) + 1))

    def go_back(self) -> bool:
        """Put the model before in the place of the present one, as the guide says."""
        if not kept(self.model, 1).exists():
            return False
        shutil.rmtree(self.model)
        kept(self.model, 1).rename(self.model)
        return True

    def left_over(self) -> list[str]:
        try:
            return [path.name for path in (self.model / ".training").iterdir()]
        except FileNotFoundError:
            return []


if __name__ == "__main__":
    run_as_command(survive, __doc__, kills=100, seed=0)
