"""The figures of an experiment, as PNG and SVG. They need matplotlib (extra ``plot``)."""

from collections.abc import Sequence
from itertools import cycle
from pathlib import Path

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure

from mpu_cli.experiment.design import TUNED
from mpu_cli.experiment.exponents import fit_power_law
from mpu_cli.experiment.results import Row
from mpu_cli.experiment.summary import METRICS, Panel, fit_seconds, panels

_MARKERS = "osD^v<>Pp*Xh"


def draw(rows: Sequence[Row], folder: Path) -> None:
    """Draw metrics if there are several missing rates, and training time if there are several numbers of instances.

    Parameters
    ----------
    rows : sequence of Row
    folder : Path
        Gets ``micro_f1``, ``macro_f1`` and ``time``, each as ``.png`` and ``.svg``. If the rule is the tuned threshold,
        ``-tuned`` is added to the name; if there are several numbers of instances, the number is.
    """
    every = panels(rows)
    several_sizes = len({panel.instances for panel in every}) > 1
    for panel in every:
        if len(panel.rates) > 1:
            suffix = "-tuned" * (panel.rule == TUNED) + f"-{panel.instances}" * several_sizes
            for metric in METRICS:
                _save(_metric_figure(panel, metric, rows[0].dataset), folder / f"{metric}{suffix}")
    if several_sizes:
        _save(_time_figure(fit_seconds(rows), rows[0].dataset), folder / "time")


def _metric_figure(panel: Panel, metric: str, dataset: str) -> Figure:
    """Plot a metric against the missing rate; error bars are standard deviations over folds."""
    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.add_subplot(
        title=f"{dataset}, {panel.instances:,} instances",
        xlabel="share of the training labels that is missing",
        ylabel=METRICS[metric],
    )
    for method, marker in zip(panel.methods, cycle(_MARKERS)):
        means = [panel.mean(metric, method, rate) for rate in panel.rates]
        spread = np.nan_to_num([panel.deviation(metric, method, rate) for rate in panel.rates])
        axes.errorbar(panel.rates, means, spread, label=method, marker=marker, markersize=5, capsize=2, linewidth=1)
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    figure.legend(loc="outside right center", fontsize="small")
    return figure


def _time_figure(seconds: dict[str, dict[int, float]], dataset: str) -> Figure:
    """Plot training time against the number of instances on log axes, with a fitted power law per method."""
    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.add_subplot(title=dataset, xlabel="instances", ylabel="training time, s", xscale="log", yscale="log")
    for (method, by_size), marker in zip(seconds.items(), cycle(_MARKERS)):
        sizes, times = list(by_size), list(by_size.values())
        (points,) = axes.plot(sizes, times, marker, markersize=5, label=method)
        if len(sizes) > 1:
            law = fit_power_law(sizes, times)
            points.set_label(f"{method}: n^{law.exponent:.2f}")
            axes.plot(sizes, law(np.asarray(sizes)), color=points.get_color(), linewidth=1)
    axes.grid(alpha=0.3, which="both")
    figure.legend(loc="outside right center", fontsize="small")
    return figure


def _save(figure: Figure, path: Path) -> None:
    with rc_context({"svg.hashsalt": path.name}):  # the same rows give the same bytes
        figure.savefig(path.with_name(f"{path.name}.svg"), metadata={"Date": None})
    figure.savefig(path.with_name(f"{path.name}.png"), dpi=150)
