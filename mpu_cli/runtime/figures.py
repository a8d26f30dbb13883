"""Figures, which need matplotlib (extra ``plot``); the same figure is the same bytes."""

import io
import warnings
from typing import TYPE_CHECKING, Any

from mpu_cli.errors import MpuError, one_line

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# No time of writing.
_METADATA: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}


def new_figure(width: float, height: float) -> "Figure":
    """Return an empty figure of a size in inches; MpuError where matplotlib is not installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MpuError("a plot needs matplotlib; install it with: pip install matplotlib") from None
    return Figure(figsize=(width, height), layout="constrained")


def literal(text: str) -> str:
    """Return a text that a figure shows as it is: it is not a formula, and has no control characters."""
    return one_line(text).replace("$", r"\$")


def image(figure: "Figure", form: str, *, salt: str = "mpu", **options: Any) -> bytes:
    """Return a figure as a file: png, svg or pdf; `salt` makes ids in an SVG, `options` go to savefig."""
    from matplotlib import rc_context

    drawn = io.BytesIO()
    with rc_context({"svg.hashsalt": salt, "svg.fonttype": "none"}), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # letters that the font does not have
        figure.savefig(drawn, format=form, metadata=_METADATA.get(form), **options)
    return drawn.getvalue()
