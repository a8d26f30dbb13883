"""The figures of an experiment, one column wide. They need matplotlib (extra ``plot``).

Methods also differ by marker and line style, so that they are distinct in grey. Points of one missing rate are side by
side.
"""

import warnings
from collections.abc import Iterator, Sequence
from io import BytesIO
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from mpu_cli.errors import one_line
from mpu_cli.experiment.cells import Panel, Row, fit_power_law, panels, seconds_of, short_names, write

# Without the time of writing.
_METADATA: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
_MARKERS = "osD^v<>Pp*Xh"
_LINES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))
# Okabe and Ito's palette, which colour-blind people can distinguish, from dark to light.
_COLOURS = ("#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
_WIDTH, _HEIGHT, _ROW = 3.3, 2.5, 0.14  # inches: the figure without its key, and a row of the key
_STYLE = {
    "font.size": 7,
    "axes.titlesize": 7,
    "legend.fontsize": 6.5,
    "lines.linewidth": 0.9,
    "lines.markersize": 2.8,
    "axes.linewidth": 0.6,
    "pdf.fonttype": 42,
}
# Width of the points at one missing rate: as a share of the distance between two rates, and at most of the axis.
_SPREAD, _WIDEST = 0.4, 0.06
_MOST_TICKS = 8


def draw(rows: Sequence[Row], folder: Path, formats: Sequence[str] = ("png", "svg")) -> list[Path]:
    """Draw metrics if there are several missing rates, and training time if there are several numbers of instances.

    The folder gets ``micro_f1``, ``macro_f1`` and ``time``, and the corrected metrics if the data are incomplete. With
    several numbers of instances, the number is appended to the name. Return the files.
    """
    every = panels(rows)
    several_sizes = len({panel.instances for panel in every}) > 1
    with rc_context(_STYLE):
        figures = {
            f"{metric}-{panel.instances}" if several_sizes else metric: _metric_figure(panel, metric)
            for panel in every
            for metric in panel.metrics
            if len(panel.rates) > 1
        }
        if several_sizes:
            figures["time"] = _time_figure(rows)
        written = []
        for name, figure in figures.items():
            figure.legend(loc="outside lower center", ncols=2, frameon=False, handlelength=3.2)
            for suffix in formats:
                written.append(folder / f"{name}.{suffix}")
                write(written[-1], _image(figure, suffix, salt=name))
    return written


def _image(figure: Figure, form: str, salt: str) -> bytes:
    """Return a figure as a file: png, svg or pdf; the same figure yields the same bytes. `salt` makes ids in an SVG."""
    drawn = BytesIO()
    with rc_context({"svg.hashsalt": salt, "svg.fonttype": "none"}), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # letters missing from the font
        figure.savefig(drawn, format=form, metadata=_METADATA.get(form), dpi=300)
    return drawn.getvalue()


def literal(text: str) -> str:
    """Return a text that a figure shows unchanged: it is not a formula, and has no control characters."""
    return one_line(text).replace("$", r"\$")


def _looks(methods: Sequence[str]) -> Iterator[tuple[str, str, dict[str, Any], dict[str, Any]]]:
    """Yield each method, its name in the key, and the styles of its points and of its line."""
    names = short_names(methods)
    for i, (method, marker, line, colour) in enumerate(zip(methods, cycle(_MARKERS), cycle(_LINES), cycle(_COLOURS))):
        points = {"marker": marker, "color": colour, "markerfacecolor": "white" if i % 2 else colour}
        yield method, literal(names[method]), points, {"linestyle": line, "color": colour}


def _metric_figure(panel: Panel, metric: str) -> Figure:
    folds = len({row["fold"] for row in panel.rows})
    bars = f"mean and standard deviation over {folds} folds" if folds > 1 else "one fold"
    figure, axes = _figure(
        panel.methods,
        title=f"{literal(panel.rows[0]['dataset'])}, {panel.instances:,} instances\n{bars}",
        xlabel="training labels missing, %",
        ylabel=panel.metrics[metric],
    )
    rates = np.array(panel.rates) * 100
    between = min(np.diff(rates).min() * _SPREAD, (rates[-1] - rates[0]) * _WIDEST) / len(panel.methods)
    for i, (method, name, points, line) in enumerate(_looks(panel.methods)):
        means, spread = zip(*(panel.over_folds(metric, method, rate) for rate in panel.rates), strict=True)
        axes.errorbar(
            rates + (i - (len(panel.methods) - 1) / 2) * between,
            means,
            np.nan_to_num(spread) if folds > 1 else None,
            label=name,
            elinewidth=0.6,
            **points | line,
        )
    axes.set_xticks(_every_kth(rates, _MOST_TICKS))
    axes.margins(y=0.04)
    return figure


def _time_figure(rows: Sequence[Row]) -> Figure:
    """Plot training time against the number of instances on log axes, with a fitted power law per method."""
    seconds = seconds_of(rows, "fit")
    labels = {"title": literal(rows[0]["dataset"]), "xlabel": "instances", "ylabel": "training time, s"}
    figure, axes = _figure([*seconds], xscale="log", yscale="log", **labels)
    for method, name, points, line in _looks([*seconds]):
        by_size = seconds[method]
        if len(by_size) > 1:
            law = fit_power_law(by_size)
            axes.plot([*by_size], np.exp(law.intercept) * np.array([*by_size], float) ** law.slope, **line)
            axes.plot([], [], label=f"{name}: n^{law.slope:.2f}", **points | line)
            name = "_"  # hidden from the key
        axes.plot([*by_size], [*by_size.values()], label=name, **points | {"linestyle": ""})
    every = _every_kth(np.unique([size for by_size in seconds.values() for size in by_size]), 5)
    axes.set_xticks(every, [f"{size:,}" for size in every])
    axes.xaxis.set_minor_locator(NullLocator())
    return figure


def _figure(methods: Sequence[str], **labels: Any) -> tuple[Figure, Axes]:
    """Return a figure that is one column wide, with room for a key of two columns."""
    figure = Figure((_WIDTH, _HEIGHT + _ROW * ((len(methods) + 1) // 2)), layout="constrained")
    axes = figure.add_subplot(**labels)
    axes.grid(alpha=0.3, linewidth=0.4)
    return figure, axes


def _every_kth(values: np.ndarray, most: int) -> list[Any]:
    return list(values[:: -(-len(values) // most)])
