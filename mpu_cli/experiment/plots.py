"""The figures of an experiment, one column wide. They need matplotlib (extra ``plot``).

Methods differ by marker and line style too, so that they are distinct in grey. Points of one missing rate are side by
side.
"""

from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from mpu_cli.experiment.results import Row, write
from mpu_cli.experiment.summary import Panel, fit_power_law, fit_seconds, panels, short_names
from mpu_cli.runtime.figures import image, literal, new_figure

FORMATS = ("png", "svg", "pdf")
_MARKERS = "osD^v<>Pp*Xh"
_LINES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))
# Okabe and Ito's, which colour-blind people can distinguish, from dark to light.
_COLOURS = ("#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
_WIDTH, _HEIGHT, _ROW = 3.3, 2.5, 0.14  # inches, of the figure without its key, and of a row of the key
_STYLE = {
    "font.size": 7,
    "axes.titlesize": 7,
    "legend.fontsize": 6.5,
    "lines.linewidth": 0.9,
    "lines.markersize": 2.8,
    "axes.linewidth": 0.6,
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
}
# Width of the points of one missing rate: as a share of the distance between two rates, and at most of the axis.
_SPREAD, _WIDEST = 0.4, 0.06
_MOST_TICKS = 8


def draw(rows: Sequence[Row], folder: Path, formats: Sequence[str] = ("png", "svg")) -> list[Path]:
    """Draw metrics if there are several missing rates, and training time if there are several numbers of instances.

    The folder gets ``micro_f1``, ``macro_f1`` and ``time``, and the corrected metrics if the data are incomplete. If
    there are several numbers of instances, the number is added to the name. Formats are a subset of `FORMATS`. Return
    the files.
    """
    every = panels(rows)
    several_sizes = len({panel.instances for panel in every}) > 1
    written: list[Path] = []
    with rc_context(_STYLE):
        for panel in every:
            if len(panel.rates) > 1:
                suffix = f"-{panel.instances}" * several_sizes
                for metric, name in panel.metrics.items():
                    figure = _metric_figure(panel, metric, name, rows[0]["dataset"])
                    written += _save(figure, folder / f"{metric}{suffix}", formats)
        if several_sizes:
            written += _save(_time_figure(fit_seconds(rows), rows[0]["dataset"]), folder / "time", formats)
    return written


def _metric_figure(panel: Panel, metric: str, name: str, dataset: str) -> Figure:
    """Plot a metric against the missing rate."""
    bars = f"mean and standard deviation over {panel.folds} folds" if panel.folds > 1 else "one fold"
    figure, axes = _figure(
        len(panel.methods),
        title=f"{literal(dataset)}, {panel.instances:,} instances\n{bars}",
        xlabel="training labels missing, %",
        ylabel=name,
    )
    rates = np.array(panel.rates) * 100
    between = min(np.diff(rates).min() * _SPREAD, (rates[-1] - rates[0]) * _WIDEST) / len(panel.methods)
    names = short_names(panel.methods)
    for i, (method, marker, line, colour) in enumerate(
        zip(panel.methods, cycle(_MARKERS), cycle(_LINES), cycle(_COLOURS))
    ):
        means = [panel.mean(metric, method, rate) for rate in panel.rates]
        spread = [panel.deviation(metric, method, rate) for rate in panel.rates]
        axes.errorbar(
            rates + (i - (len(panel.methods) - 1) / 2) * between,
            means,
            np.nan_to_num(spread) if panel.folds > 1 else None,
            label=literal(names[method]),
            marker=marker,
            linestyle=line,
            color=colour,
            markerfacecolor=colour if i % 2 == 0 else "white",
            elinewidth=0.6,
        )
    axes.set_xticks(_every_kth(rates))
    axes.margins(y=0.04)
    return _with_key(figure, axes)


def _time_figure(seconds: dict[str, dict[int, float]], dataset: str) -> Figure:
    """Plot training time against the number of instances on log axes, with a fitted power law per method."""
    figure, axes = _figure(
        len(seconds), title=literal(dataset), xlabel="instances", ylabel="training time, s", xscale="log", yscale="log"
    )
    names = short_names(list(seconds))
    for i, ((method, by_size), marker, line, colour) in enumerate(
        zip(seconds.items(), cycle(_MARKERS), cycle(_LINES), cycle(_COLOURS))
    ):
        sizes, times = list(by_size), list(by_size.values())
        style: dict[str, Any] = {"color": colour, "markerfacecolor": colour if i % 2 == 0 else "white"}
        if len(sizes) > 1:
            law = fit_power_law(sizes, times)
            axes.plot(
                sizes, np.exp(law.intercept) * np.asarray(sizes, float) ** law.slope, color=colour, linestyle=line
            )
            axes.plot([], [], marker, linestyle=line, label=f"{literal(names[method])}: n^{law.slope:.2f}", **style)
            axes.plot(sizes, times, marker, **style)
        else:
            axes.plot(sizes, times, marker, label=literal(names[method]), **style)
    every = _every_kth(np.unique([size for by_size in seconds.values() for size in by_size]), 5)
    axes.set_xticks(every, [f"{size:,}" for size in every])
    axes.xaxis.set_minor_locator(NullLocator())
    return _with_key(figure, axes)


def _figure(methods: int, **labels: Any) -> tuple[Figure, Axes]:
    """Return a figure of one column's width, with room for a key of two columns."""
    figure = new_figure(_WIDTH, _HEIGHT + _ROW * ((methods + 1) // 2))
    axes = figure.add_subplot(**labels)
    axes.grid(alpha=0.3, linewidth=0.4)
    return figure, axes


def _with_key(figure: Figure, axes: Axes) -> Figure:
    handles, names = axes.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=2, frameon=False, handlelength=3.2)
    return figure


def _every_kth(values: np.ndarray, most: int = _MOST_TICKS) -> list[Any]:
    """Return every k-th value, so that ticks do not overlap."""
    return list(values[:: -(-len(values) // most)])


def _save(figure: Figure, path: Path, formats: Sequence[str]) -> list[Path]:
    written = []
    for suffix in formats:
        file = path.with_name(f"{path.name}.{suffix}")
        write(file, image(figure, suffix, salt=path.name, dpi=300))
        written.append(file)
    return written
