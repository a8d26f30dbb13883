"""What came out of a comparison: a Markdown table, a CSV file and a plot."""

import csv
from collections.abc import Sequence
from pathlib import Path

from benchmarks.compare import Result

MEGABYTE = 10**6
_HEADER = ["tool", "train, s", "ratio", "micro-F1", "predict, s", "peak RSS, MB", "peak anonymous, MB"]
_CSV_HEADER = [
    *("tool", "seconds", "seconds_max", "ratio", "micro_f1", "predict_seconds"),
    *("max_rss_bytes", "anonymous_bytes", "failure"),
]


def ratios(results: Sequence[Result]) -> list[float | None]:
    """Training time of each tool over that of the first that did not fail; None for those that did."""
    first = next((result.seconds for result in results if not result.failure), 0.0)
    return [None if result.failure else result.seconds / first for result in results]


def markdown(results: Sequence[Result]) -> str:
    """Make a Markdown table; the ratio is to the first row, and more than 1 is slower."""
    lines = [_row(_HEADER), "|---" + "|---:" * (len(_HEADER) - 1) + "|"]
    for result, ratio in zip(results, ratios(results), strict=True):
        if ratio is None or result.prediction is None:
            lines.append(_row([result.name, f"failed: {result.failure.replace('|', '/')}", *[""] * (len(_HEADER) - 2)]))
            continue
        lines.append(
            _row(
                [
                    result.name,
                    f"{result.seconds:.2f}",
                    f"{ratio:.2f}",
                    f"{result.micro_f1:.4f}",
                    f"{result.prediction.seconds:.2f}",
                    f"{result.max_rss / MEGABYTE:,.0f}",
                    f"{result.anonymous / MEGABYTE:,.0f}",
                ]
            )
        )
    return "\n".join(lines) + "\n"


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def write_csv(results: Sequence[Result], path: Path) -> None:
    """Write a line a tool; cells that were not measured are empty."""
    with path.open("w", newline="") as stream:
        table = csv.writer(stream)
        table.writerow(_CSV_HEADER)
        for result, ratio in zip(results, ratios(results), strict=True):
            if ratio is None or result.prediction is None:
                table.writerow([result.name, *[""] * (len(_CSV_HEADER) - 2), result.failure])
                continue
            times = [usage.seconds for usage in result.training]
            row = [result.seconds, max(times), ratio, result.micro_f1, result.prediction.seconds]
            table.writerow([result.name, *row, result.max_rss, result.anonymous, ""])


def plot(results: Sequence[Result], path: Path) -> None:
    """Plot micro-F1 against training time, a point a tool that did not fail; needs matplotlib."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 5), layout="constrained")
    axes = figure.add_subplot(xscale="log", xlabel="training time, s", ylabel="micro-F1")
    for result in results:
        if not result.failure:
            ours = result.name.startswith("mpu")
            axes.scatter(result.seconds, result.micro_f1, label=result.name, marker="o" if ours else "^", s=60)
    axes.grid(alpha=0.3)
    figure.legend(loc="outside right center", fontsize="small")
    figure.savefig(path, dpi=150)
