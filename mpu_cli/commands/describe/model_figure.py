"""A model as a figure: how often labels are true, how probabilities are made, and which labels lean on which.

It needs matplotlib (extra ``plot``).
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit

from mpu_cli import bundle
from mpu_cli.bundle.origin import Origin
from mpu_cli.core.model.explanation import strongest_links
from mpu_cli.core.model.stacking import StackedModel
from mpu_cli.runtime.figures import image, new_figure
from mpu_cli.svmlight.streams import open_output

if TYPE_CHECKING:
    from mpu_cli.names import LabelNames

_INCHES = (11, 8)
_LINKS, _LETTERS = 15, 24


def draw(model: bundle.TrainedModel, origin: Origin | None, names: "LabelNames | None", target: Path) -> None:
    """Draw a model.

    Parameters
    ----------
    model : TrainedModel
    origin : Origin or None
        How it was trained, if that was recorded.
    names : LabelNames or None
        None: labels are numbers.
    target : Path
        Its suffix is .png, .svg or .pdf. Written as a whole or not at all.

    Raises
    ------
    MpuError
        matplotlib is not installed, or the file cannot be written.
    """
    figure = new_figure(*_INCHES)
    panels = figure.subplots(2, 2)
    _counts(panels[0, 0], origin)
    _frequencies(panels[0, 1], model)
    _calibration(panels[1, 0], model)
    _links(panels[1, 1], model, names)
    drawn = image(figure, target.suffix[1:])
    with open_output(target) as out:
        out.write(drawn)


def _counts(axes: Any, origin: Origin | None) -> None:
    axes.set(title="labels in training", xlabel="labels, the most frequent first", ylabel="instances")
    if origin is None:
        _say(axes, "not recorded")
        return
    order = np.argsort(-np.array(origin.true), kind="stable")
    ranks = np.arange(1, len(order) + 1)
    axes.plot(ranks, np.array(origin.true)[order], marker=".", label="true, estimated")
    axes.plot(ranks, np.array(origin.annotated)[order], marker=".", linestyle="--", label="annotated")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_yscale("symlog", linthresh=1)
    axes.set_ylim(bottom=0)
    axes.legend()
    axes.grid(alpha=0.3)


def _frequencies(axes: Any, model: bundle.TrainedModel) -> None:
    axes.set(title="label frequency", xlabel="c, the share of the true labels that is annotated", ylabel="labels")
    if "c" not in model.options:
        _say(axes, f"{model.method} knows none")
        return
    axes.hist(model.c, bins=np.linspace(0, 1, 41))
    axes.yaxis.get_major_locator().set_params(integer=True)
    axes.set_xlim(0, 1)
    axes.grid(alpha=0.3)


def _calibration(axes: Any, model: bundle.TrainedModel) -> None:
    axes.set(title="calibration", xlabel="prediction of the last level", ylabel="probability that it stands for")
    calibration = getattr(model.predictor, "calibration", None)
    if calibration is None:
        _say(axes, "predictions are taken as they are")
        return
    axes.plot([0, 1], [0, 1], color="gray", linewidth=1)
    for of_stratum in calibration.maps:
        axes.plot(expit(of_stratum.predicted), expit(of_stratum.actual), marker=".")
    axes.grid(alpha=0.3)


def _links(axes: Any, model: bundle.TrainedModel, names: "LabelNames | None") -> None:
    axes.set(title="strongest links: which label leans on which", xlabel="log-odds that a prediction of 1 adds")
    links = strongest_links(model.predictor, _LINKS) if isinstance(model.predictor, StackedModel) else []
    if not links:
        _say(axes, "none")
        return

    def name(k: int) -> str:
        number = int(model.label_ids[k])
        text = str(number) if names is None else names.shown(number)
        text = text if len(text) <= _LETTERS else text[:_LETTERS] + "..."
        return text.replace("\\", r"\\").replace("$", r"\$")  # no formula

    axes.barh(range(len(links)), [link.weight for link in links])
    axes.set_yticks(range(len(links)), [f"{name(link.k)} on {name(link.j)}" for link in links], fontsize="small")
    axes.invert_yaxis()
    axes.axvline(0, color="gray", linewidth=1)
    axes.grid(alpha=0.3, axis="x")


def _say(axes: Any, text: str) -> None:
    axes.text(0.5, 0.5, text, ha="center", va="center", transform=axes.transAxes, color="gray")
    axes.set(xticks=[], yticks=[])
