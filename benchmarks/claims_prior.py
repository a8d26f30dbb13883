"""How claims do on a set that the prior of the share right at the top of a list was not chosen on.

    python -m benchmarks.claims_prior --data DIR

Half of the labels are lost in five ways. The first 200 suggestions are claimed without a decision, and the next 200
after the first 25 were decided from the truth, without training again. For each set, the mean and deviation of the
prior are those with the fewest short claims, then the narrowest ones, on all other sets and on the lists that people
judged.
"""

from dataclasses import dataclass, replace
from itertools import product
from unittest.mock import patch

import click
import numpy as np
from scipy.sparse import csr_array
from scipy.special import expit

from benchmarks.losing import Collection, annotated, on_sets
from mpu_cli.core.frequency.estimators import Z_90
from mpu_cli.core.options import Options
from mpu_cli.core.predictions import Predictions
from mpu_cli.core.problem import HowDecided, Problem, VerifiedLabels
from mpu_cli.core.stacking import train
from mpu_cli.people import suggestions
from mpu_cli.people.posteriors import Choice, Evidence, posterior_at
from mpu_cli.people.suggestions import find
from mpu_cli.runtime.run import Run

SCHEMES = ("uniform", "label", "rare", "single", "hard")
PRIORS = list(product((0.6, 0.9, 1.2, 1.5, 1.8), (0.75, 0.9, 1.05, 1.2, 1.35)))  # mean, deviation
# The share right in lists that people judged, where nothing was decided before; what is arguable counts half.
JUDGED = (0.635, 17 / 27, 20 / 40, 11.5 / 25, 26 / 50)
_KEPT, _TOP, _DECIDED = 0.5, 200, 25
_TOLERANCE, _WIDEST, _FARTHEST = 0.05, 0.4, 0.1  # of a list


@dataclass(frozen=True)
class Listed:
    """The first suggestions of a set, the most probable first, and which of them are true."""

    problem: Problem
    evidence: Evidence
    probabilities: Predictions
    rows: np.ndarray
    columns: np.ndarray
    true: np.ndarray

    def claims(self, decided: int) -> np.ndarray:
        """Claim the next suggestions by each of `PRIORS`.

        Returns whether claims are short, and the widths of their intervals: shape (2, priors).
        """
        rows, columns, true = self.rows[:decided], self.columns[:decided], self.true[:decided]
        verified = VerifiedLabels.of(
            self.problem.labels.shape, true=(rows[true], columns[true]), false=(rows[~true], columns[~true])
        )
        in_order = csr_array((np.full(decided, HowDecided.IN_ORDER), (rows, columns)), shape=self.problem.labels.shape)
        problem, choice = replace(self.problem, verified=verified, origins=in_order), Choice(top=_TOP)
        with patch.object(suggestions, "_DEVIATION", np.inf):  # what all priors are multiplied with
            flat = suggestions.Claims.of(self.probabilities, problem, self.evidence, choice, in_order.astype(bool))
        listed = slice(decided, decided + _TOP)
        posterior = posterior_at(self.probabilities, self.evidence.frequency, self.rows[listed], self.columns[listed])
        share, size, found = self.true[listed].mean(), len(posterior), []
        levels = np.repeat(np.tile(suggestions._LEVELS, len(suggestions._SLOPES_BY_LISTS)), 3)
        for mean, deviation in PRIORS:
            weights = flat.weights * np.exp(-(((levels - mean) / deviation) ** 2) / 2)
            right = replace(flat, weights=weights / weights.sum()).expected_right(posterior)
            low, expected, high = (float(value) / size for value in (right.low, right.expected, right.high))
            off = decided and (high - low > _WIDEST or abs(expected - share) > _FARTHEST)
            found.append((off or not low - _TOLERANCE <= share <= high + _TOLERANCE, high - low))
        return np.transpose(found)


def listed(of: Collection, scheme: str, instances: int, run: Run) -> Listed:
    """Remove labels of the first instances of a set, and list what is missing."""
    X, Y = of.X[:instances], of.Y[:instances]
    left = annotated(scheme, X, Y, _KEPT, run.seed)
    columns = np.unique(left.indices)
    problem = Problem(X, left[:, columns])
    evidence = Evidence.of_training(train(problem, Options(), run, hold_out_all=True)[1], problem)
    found = find(evidence, problem, columns, Choice(top=_TOP + _DECIDED), run=run)
    rows, places = found.listed.rows, found.listed.columns
    probabilities = suggestions.given_other_labels(evidence, problem.labels, run)
    return Listed(problem, evidence, probabilities, rows, places, Y.toarray()[rows, columns[places]])


def judged() -> np.ndarray:
    """Return whether claims of lists that people judged are short, and their widths: shape (2, lists, priors)."""
    low, high = expit([np.add(mean, np.multiply(deviation, [-Z_90, Z_90])) for mean, deviation in PRIORS]).T
    short = [(share < low - _TOLERANCE) | (share > high + _TOLERANCE) for share in JUDGED]
    return np.array([short, [high - low] * len(JUDGED)])


@on_sets
@click.option("--instances", default=2000, show_default=True)
def main(sets: dict[str, Collection], run: Run, instances: int) -> None:
    """Print a table in Markdown."""
    found = {"judged by people": judged()}
    click.echo("| set left out | mean, deviation | short: chosen, used | width: chosen, used |")
    click.echo("|---|---|---|---|")
    for name, of in sets.items():
        lists = [listed(of, scheme, instances, run) for scheme in SCHEMES]
        found[name] = np.stack([one.claims(decided) for decided in (0, _DECIDED) for one in lists], axis=1)
    used = PRIORS.index((suggestions._MEAN, suggestions._DEVIATION))
    for name, (short, width) in found.items():
        others = np.hstack([of for other, of in found.items() if other != name])
        best = np.lexsort(others.sum(axis=1)[::-1])[0]
        counts = f"{short[:, best].sum():.0f}, {short[:, used].sum():.0f} of {len(short)}"
        widths = f"{width[:, best].mean():.2f}, {width[:, used].mean():.2f}"
        click.echo(f"| {name} | {PRIORS[best][0]}, {PRIORS[best][1]} | {counts} | {widths} |")


if __name__ == "__main__":
    main()
