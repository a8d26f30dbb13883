"""`mpu` commands in processes of their own, two trainings to run them on, and what each of the two has to give."""

import argparse
import os
import tempfile
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path

from tests import forked

DIGITS = Path(__file__).parents[2] / "data"
TRAINING = ("--c", "0.6", "--cost", "30", "--epochs", "5", "-j", "1", "--kernel", "numpy", "--quiet")
FORMATS = ("labels", "scores")


def start(log: Path, *args: str | Path) -> BaseProcess:
    """Start ``mpu`` with arguments; what it says goes to the end of a file."""
    with log.open("ab") as file, Path(os.devnull).open() as nothing:
        return forked.start(forked.mpu, list(map(str, args)), [nothing.fileno(), file.fileno(), file.fileno()])


class Trainings:
    """Two halves of the digits, in an empty folder: what `mpu train` makes of each, and what each model predicts."""

    def __init__(self, folder: Path) -> None:
        self.log = folder / "log.txt"
        self.model = folder / "model.mpu"
        lines = (DIGITS / "digits-train.svm").read_text().splitlines(keepends=True)
        self.data = [folder / f"half{half}.svm" for half in (0, 1)]
        self.test = folder / "test.svm"
        self.test.write_text("".join((DIGITS / "digits-test.svm").read_text().splitlines(keepends=True)[:50]))
        self.predictions: list[dict[str, bytes]] = []
        for half in (0, 1):
            self.data[half].write_text("".join(lines[half::2]))
            self.run("train", self.data[half], "-o", self.model, *TRAINING)
            self.predictions.append({form: self.predict(form) for form in FORMATS})
        assert self.predictions[0] != self.predictions[1]

    def start_training(self, half: int) -> BaseProcess:
        return start(self.log, "train", self.data[half], "-o", self.model, *TRAINING)

    def start_predicting(self, form: str, output: Path) -> BaseProcess:
        return start(self.log, "predict", self.model, self.test, "--format", form, "-o", output, "--kernel", "numpy")

    def predict(self, form: str) -> bytes:
        output = self.log.with_name("predictions.txt")
        self.finish(self.start_predicting(form, output))
        return output.read_bytes()

    def run(self, *args: str | Path) -> None:
        self.finish(start(self.log, *args))

    def finish(self, process: BaseProcess) -> None:
        process.join()
        said = self.log.read_text()
        assert process.exitcode == 0 and not said, f"status {process.exitcode}: {said}"


def run_as_command(count: Callable[..., dict[str, int]], description: str, **defaults: float) -> None:
    """Call a function with numbers from the command line and an empty folder, and print what it has counted."""
    parser = argparse.ArgumentParser(description=description.partition("\n")[0])
    for name, value in defaults.items():
        parser.add_argument(f"--{name}", type=type(value), default=value)
    arguments = vars(parser.parse_args())
    with tempfile.TemporaryDirectory() as folder:
        for what, times in sorted(count(**arguments, folder=Path(folder)).items()):
            print(f"{times:14,}  {what}")
