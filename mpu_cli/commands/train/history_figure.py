"""A history of trainings as a figure. It needs matplotlib (extra ``plot``)."""

import io
from datetime import datetime
from pathlib import Path
from typing import Any

from mpu_cli.errors import InputError, MpuError
from mpu_cli.svmlight.streams import open_output

_INCHES = (11, 8)
_PANELS = (
    ("label frequency c", ("c",), (0, 1)),
    ("micro-F1 to expect on complete labels", ("expected_micro_f1",), (0, 1)),
    ("counts", ("instances", "annotations", "features", "labels"), None),
    ("seconds of training", ("seconds",), None),
)
_MARKERS = "os^D"


def draw(path: Path, entries: list[dict[str, Any]], target: Path) -> None:
    """Draw c, expected F1, counts and time over the trainings.

    Parameters
    ----------
    path : Path
        The history, for messages.
    entries : list of dict
        Its trainings, from `history.read`.
    target : Path
        Its suffix is .png, .svg or .pdf. Written as a whole or not at all.

    Raises
    ------
    MpuError
        matplotlib is not installed, or the file cannot be written.
    InputError
        A time is none.
    """
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError:
        raise MpuError("a plot needs matplotlib; install it with: pip install matplotlib") from None
    try:
        times = [datetime.fromisoformat(entry["time"]) for entry in entries]
    except ValueError as error:
        raise InputError(str(path), None, f"a time is none: {error}") from None
    figure = Figure(figsize=_INCHES, layout="constrained")
    for axes, (title, names, limits) in zip(figure.subplots(2, 2).flat, _PANELS, strict=True):
        _panel(axes, times, entries, names)
        axes.set(title=title, ylim=limits if limits else (0, None))
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(target.suffix[1:], {})
    drawn = io.BytesIO()
    with rc_context({"svg.hashsalt": "mpu", "svg.fonttype": "none"}):
        figure.savefig(drawn, format=target.suffix[1:], metadata=metadata)
    with open_output(target) as out:
        out.write(drawn.getvalue())


def _panel(axes: Any, times: list[datetime], entries: list[dict[str, Any]], names: tuple[str, ...]) -> None:
    for marker, name in zip(_MARKERS, names, strict=False):
        points = [
            (time, entry[name]) for time, entry in zip(times, entries, strict=True) if entry.get(name) is not None
        ]
        if points:
            axes.plot(*zip(*points, strict=True), marker=marker, label=name)
    ends = [bound for entry in entries for bound in (entry.get("c_interval") or ())]
    if names == ("c",) and len(ends) == 2 * len(entries):
        axes.fill_between(times, ends[::2], ends[1::2], alpha=0.2, label="90 % interval, of sampling")
    if len(axes.get_legend_handles_labels()[1]) > 1:
        axes.legend()
        if names != ("c",):
            axes.set_yscale("symlog", linthresh=1)
    axes.grid(alpha=0.3)
    axes.tick_params("x", rotation=30)
