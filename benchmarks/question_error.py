"""How far c is off after some answers to questions, and how often its 90 % interval covers it.

Labels are lost in the training files, half of them and more; their answers come from the truth. Nothing is tested on.

    python -m benchmarks.question_error --data DIR
"""

from collections.abc import Iterator

import click
import numpy as np
from scipy.sparse import csr_array

from benchmarks.losing import SCHEMES, Collection, lose, on_sets
from mpu_cli.core.features import Features
from mpu_cli.core.frequency.questions import draw_questions, fit
from mpu_cli.core.options import FrequencyOptions
from mpu_cli.core.problem import Answers, Instances
from mpu_cli.core.sample import Sample, estimate_frequency
from mpu_cli.runtime.run import Run

SIZES = (20, 40, 100, 200)
_KEPT = 0.5
_NO_ANSWERS = Answers(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, bool))


def errors(of: Collection, scheme: str, seed: int, run: Run) -> Iterator[tuple[int, tuple[float, ...]]]:
    """Give the number of answers with errors and coverage.

    Error of the automatic c, error of c, whether its interval covers the truth; error of labels, and for how many of
    them the interval covers.
    """
    S, Y = lose(scheme, of, _KEPT, seed), of.Y.toarray()
    columns = S.any(axis=0)
    labels, Y = csr_array(S[:, columns]), Y[:, columns]
    true = Y.sum(axis=0)
    share, of_labels = labels.nnz / true.sum(), labels.sum(axis=0) / true
    sample = Sample(Instances(Features.of(of.X), labels), FrequencyOptions.sample, None, run)
    probabilities = sample.naive_probabilities()
    automatic = estimate_frequency(sample, scores=probabilities).overall.c
    for size in SIZES:
        asked = draw_questions(sample.answered(probabilities, _NO_ANSWERS)[0], size, seed)
        answers = Answers(asked.rows, asked.columns, Y[asked.rows, asked.columns])
        fitted = fit(*sample.answered(probabilities, answers), automatic)
        c, [(low, high)] = float(fitted.overall.mean()[0]), fitted.overall.interval(0.1)
        by_label = float(np.average(np.abs(np.log(fitted.by_label.mean() / of_labels)), weights=true))
        ends = fitted.by_label.interval(0.1)
        of_these = float(np.mean((ends[:, 0] <= of_labels) & (of_labels <= ends[:, 1])))
        yield size, (abs(automatic - share), abs(c - share), low <= share <= high, by_label, of_these)


@on_sets
@click.option("--seeds", default=5, show_default=True)
def main(sets: dict[str, Collection], run: Run, seeds: int) -> None:
    """Print a table in Markdown."""
    click.echo("| set | lost | automatic | " + " | ".join(map(str, SIZES)) + " | covered | labels | covered |")
    click.echo("|---|---|---:|" + "---:|" * (len(SIZES) + 3))
    for name, of in sets.items():
        for scheme in SCHEMES:
            by_size: dict[int, list[tuple[float, ...]]] = {size: [] for size in SIZES}
            for seed in range(seeds):
                for size, values in errors(of, scheme, seed, run):
                    by_size[size].append(values)
            means = {size: np.mean(values, axis=0) for size, values in by_size.items()}
            cells = " | ".join(f"{means[size][1]:.3f}" for size in SIZES)
            covered, of_these = (np.mean([means[size][at] for size in SIZES]) for at in (2, 4))
            labels = " to ".join(f"{means[size][3]:.2f}" for size in (SIZES[0], SIZES[-1]))
            tail = f"{covered:.2f} | {labels} | {of_these:.2f}"
            click.echo(f"| {name} | {scheme} | {means[SIZES[0]][0]:.3f} | {cells} | {tail} |")


if __name__ == "__main__":
    main()
