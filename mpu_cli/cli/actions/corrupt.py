"""Remove random labels, for training data with a known share of missing labels."""

from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from mpu_cli.cli.messages import info
from mpu_cli.cli.options import refuse_overlaps
from mpu_cli.errors import MpuError, counted
from mpu_cli.inputs.side_tables import frequency_lines
from mpu_cli.runtime.run import DEFAULT_RUN, Run
from mpu_cli.svmlight.grammar import DEFAULT_READING, Reading
from mpu_cli.svmlight.reader import iter_stream
from mpu_cli.svmlight.streams import Measured, open_output, read_twice, refuse_unwritable
from mpu_cli.svmlight.writer import labelled_lines

# Maps the labels of the next instances, and the number of labels of each, to whether each label is drawn.
Draw = Callable[[np.ndarray, np.ndarray], np.ndarray]

_DRAWN_AT_ONCE = 1 << 16
_HYPERGEOMETRIC_LIMIT = 10**9
_SPREAD = 0.8  # largest distance of a label's rate from the mean rate, relative to the mean's distance from 0 or 1


def uniform_draw(labels: int, missing_rate: float, seed: int) -> Draw:
    """Draw an exact number of labels uniformly from all labels of a file, instance by instance.

    The number is ``round(missing_rate * labels)``, halves to even; MpuError if there are too many labels to draw from.

    The number of drawn labels among the next `_DRAWN_AT_ONCE` is hypergeometric; their positions are uniform.
    """
    size = round(missing_rate * labels)
    if max(size, labels - size) >= _HYPERGEOMETRIC_LIMIT:
        raise MpuError(f"cannot draw from {labels} labels (the limit is {_HYPERGEOMETRIC_LIMIT}); split the file")
    (rng,) = np.random.default_rng(seed).spawn(1)
    ready = np.zeros(0, bool)  # whether the next ones are drawn

    def draw(of_instances: np.ndarray, _sizes: np.ndarray) -> np.ndarray:
        nonlocal labels, size, ready
        pieces = [ready]
        while sum(map(len, pieces)) < len(of_instances):
            piece = np.zeros(_DRAWN_AT_ONCE, bool)
            here = min(_DRAWN_AT_ONCE, labels)
            drawn = rng.hypergeometric(size, labels - size, here)
            piece[rng.choice(here, drawn, replace=False, shuffle=False)] = True
            labels, size = labels - here, size - drawn
            pieces.append(piece)
        first, ready = np.split(np.concatenate(pieces), [len(of_instances)])
        return first

    return draw


def label_draw(labels: np.ndarray, missing_rate: float, seed: int) -> Draw:
    """Draw labels, each at its own rate, uniform about the missing rate; `labels` are in ascending order."""
    mean = 1 - missing_rate
    width = min(mean, 1 - mean) * _SPREAD
    rng = np.random.default_rng(seed)
    kept = np.append(rng.uniform(mean - width, mean + width, len(labels)), 0)

    def draw(of_instances: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        order = np.lexsort((of_instances, np.repeat(np.arange(len(sizes)), sizes)))
        drawn = np.empty(len(order), bool)
        drawn[order] = kept[np.searchsorted(labels, of_instances[order])] <= rng.random(len(order))
        return drawn

    return draw


def command(
    source: str | Path,
    target: str | Path,
    missing_rate: float,
    scheme: str = "uniform",
    removed: str | Path | None = None,
    kept: str | Path | None = None,
    run: Run = DEFAULT_RUN,
    reading: Reading = DEFAULT_READING,
) -> dict[str, Any]:
    """Carry out the command, and return the counts.

    The file is read twice, once to check and count every line, once to copy, in constant memory. Input that cannot be
    read twice (standard input, a pipe) is first copied to a temporary file. The result depends only on the content and
    the seed.
    """
    refuse_overlaps({"IN": source}, {"OUT": target, "--removed": removed, "--kept": kept})
    refuse_unwritable(kept)
    instances = emptied = 0
    before: Counter[int] = Counter()
    after: Counter[int] = Counter()
    with read_twice(source) as opened:
        with opened() as stream:
            first = Measured(stream)
            chunks = iter_stream(first, str(source), reading, run=run)
            if scheme == "label":
                occurring = [np.unique(chunk.labels.indices) for chunk in chunks]
                draw = label_draw(np.unique(np.concatenate(occurring)), missing_rate, run.seed)
            else:
                draw = uniform_draw(sum(chunk.labels.nnz for chunk in chunks), missing_rate, run.seed)
        with opened() as stream, ExitStack() as beside, open_output(target, beside) as out:
            removed_out = None if removed is None else beside.enter_context(open_output(removed))
            for block in labelled_lines(stream, str(source), first.measure()):
                is_lost = draw(block.labels, block.sizes)
                left, lost = block.chosen(~is_lost), block.chosen(is_lost)
                out.write(block.written(left))
                if removed_out is not None:
                    rows = enumerate(lost, instances + 1)
                    removed_out.write(b"".join(b"%d\t%s\n" % (row, text) for row, texts in rows for text in texts))
                instances += len(block.sizes)
                before.update(block.labels.tolist())
                after.update(block.labels[~is_lost].tolist())
                emptied += sum(bool(gone) and not others for gone, others in zip(lost, left, strict=True))
            c_of_labels = {label: after[label] / before[label] for label in sorted(before)}
            if kept is not None:
                shares = {label: c for label, c in c_of_labels.items() if c}
                table = frequency_lines(np.array(list(shares), int), np.array(list(shares.values())))
                beside.enter_context(open_output(kept)).write(table)
    total, remaining = before.total(), after.total()
    counts: dict[str, Any] = {"instances": instances, "labels": total, "removed": total - remaining, "emptied": emptied}
    share = of_labels = ""
    if c_of_labels:
        c = {"c": remaining / total, "least_c": min(c_of_labels.values()), "most_c": max(c_of_labels.values())}
        share = f" ({1 - c['c']:.1%})"
        of_labels = "; c {c:.3f}, of labels {least_c:.3f} to {most_c:.3f}".format(**c)
        counts |= c
    info(
        f"{counted(instances, 'instance')} with {counted(total, 'label')}: {counts['removed']:,} removed{share}, "
        f"{remaining:,} left; {counted(emptied, 'instance')} lost all labels{of_labels}",
        **counts,
    )
    return counts
