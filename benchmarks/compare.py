"""Runs of several tools side by side."""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from benchmarks import measure
from benchmarks.tools import Tool

WARM_UP_INSTANCES = 300


@dataclass
class Result:
    """What was measured of a tool.

    Attributes
    ----------
    name : str
    training : list of measure.Usage
        One a repetition.
    prediction : measure.Usage or None
    micro_f1 : float
    failure : str
        Why the tool dropped out, empty if it did not.
    """

    name: str
    training: list[measure.Usage] = field(default_factory=list)
    prediction: measure.Usage | None = None
    micro_f1: float = 0.0
    failure: str = ""

    @property
    def seconds(self) -> float:
        """Shortest training time: what else the machine does can only add to it."""
        return min(usage.seconds for usage in self.training)

    @property
    def max_rss(self) -> int:
        """Largest resident memory in training, in bytes."""
        return max(usage.max_rss for usage in self.training)

    @property
    def anonymous(self) -> int:
        """Largest anonymous memory in training, in bytes."""
        return max(usage.anonymous for usage in self.training)


def compare(
    tools: Sequence[Tool],
    train: Path,
    test: Path,
    folder: Path,
    repetitions: int,
    timeout: float,
    say: Callable[[str], None],
) -> list[Result]:
    """Measure tools in turn, repetition by repetition, so that what else the machine does meets all alike.

    Before that, each runs once on a few instances: to fill caches (files of its environment, compiled code), and to
    drop out soon if it is not installed. A tool that fails drops out and does not stop the others.

    Parameters
    ----------
    tools : sequence of Tool
    train, test : Path
        LIBSVM files.
    folder : Path
        Where models and predictions go; it must exist.
    repetitions : int
    timeout : float
        Seconds that a run may take.
    say : callable
        Called with a line on what was done.

    Returns
    -------
    list of Result
        One a tool, in the order of the tools.
    """
    results = [Result(tool.name) for tool in tools]
    few = folder / "warm-up.svm"
    with train.open("rb") as source, few.open("wb") as target:
        target.writelines(islice(source, WARM_UP_INSTANCES))

    rounds = [(few, "warm-up"), *((train, f"repetition {number + 1}") for number in range(repetitions))]
    for data, name in rounds:
        for tool, result in zip(tools, results, strict=True):
            if result.failure:
                continue
            try:
                usage = measure.run(_filled(tool.train, data=data, model=_fresh_model(tool, folder)), timeout)
                if data == train:
                    result.training.append(usage)
                say(f"{name}: {tool.name}: {usage.seconds:.1f} s")
            except measure.FailedError as error:
                result.failure = str(error)
                say(f"{name}: {tool.name}: failed: {error}")
    for tool, result in zip(tools, results, strict=True):
        if not result.failure:
            _predict(tool, result, test, folder, timeout)
    return results


def _predict(tool: Tool, result: Result, test: Path, folder: Path, timeout: float) -> None:
    """Predict the test file with the model that was made last."""
    output = folder / f"{_file_name(tool)}.txt"
    try:
        result.prediction = measure.run(
            _filled(tool.predict, model=folder / _file_name(tool), data=test, output=output), timeout
        )
        result.micro_f1 = measure.micro_f1(test, output)
    except measure.FailedError as error:
        result.failure = f"prediction: {error}"


def _filled(command: Sequence[str], **paths: Path) -> list[str]:
    return [part.format(**paths) for part in command]


def _fresh_model(tool: Tool, folder: Path) -> Path:
    """Path of the tool's model; a model that is there is removed."""
    model = folder / _file_name(tool)
    if model.is_dir():
        shutil.rmtree(model)
    model.unlink(missing_ok=True)
    return model


def _file_name(tool: Tool) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in tool.name)
