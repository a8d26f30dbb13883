"""Missing labels found by `mpu suggest` and by cleanlab, where labels were removed by chance.

cleanlab (extra ``bench``) looks for wrong labels in either direction, by out-of-fold probabilities of a classifier of
the user's. Here it gets those of scikit-learn's logistic regression, as its tutorials do, and those of binary relevance
by `mpu` (c = 1). Its cells that are not annotated are ranked: those that its filter takes for issues first, each part
by its score for label quality. Truth is what was removed.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.options import Options
from mpu_cli.core.problem import Problem
from mpu_cli.core.stacking import train
from mpu_cli.people.posteriors import Choice, Evidence
from mpu_cli.people.suggestions import find
from mpu_cli.runtime.run import Run
from mpu_cli.svmlight.reader import read

SETS = "reuters-topics,bibtex,yeast,rcv1-small"
FOLDS = 5


@dataclass(frozen=True)
class Task:
    """Data of which labels were removed.

    Attributes
    ----------
    features : csr_array, shape (n, D)
    annotated : csr_array of bool, shape (n, q)
        What is left.
    missing : ndarray of bool, shape (n, q)
        What was removed, of labels that are still there.
    removed : int
        How many labels were removed in all.
    """

    features: csr_array
    annotated: csr_array
    missing: np.ndarray
    removed: int


Ranking = tuple[np.ndarray, np.ndarray]  # instances and labels, the most probable first


def remove(path: Path, rate: float, seed: int) -> Task:
    """Remove each label of a file with the same probability."""
    data = read(path)
    kept = np.random.default_rng(seed).random(data.labels.nnz) >= rate
    left = csr_array((kept, data.labels.indices, data.labels.indptr), shape=data.labels.shape)
    ids = np.unique(left.indices[kept])
    annotated = csr_array(left[:, ids])
    annotated.eliminate_zeros()
    missing = data.labels[:, ids].toarray() & ~annotated.toarray()
    return Task(data.features, annotated, missing, int(np.count_nonzero(~kept)))


def by_mpu(task: Task) -> Ranking:
    """Rank by `mpu suggest`, with c estimated."""
    ids = np.arange(task.annotated.shape[1])
    problem = Problem(task.features, task.annotated)
    evidence = Evidence.of_training(train(problem, Options(), Run(), hold_out_all=True)[1], problem)
    found = find(evidence, problem, ids, Choice(top=task.removed))
    return found.listed.rows, found.listed.columns


def by_cleanlab_and_scikit_learn(task: Task) -> Ranking:
    """Rank by cleanlab, on probabilities of scikit-learn's logistic regression."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import KFold

    probabilities = np.zeros(task.annotated.shape)
    for train_rows, rows in KFold(FOLDS, shuffle=True, random_state=0).split(task.features):
        learned = task.annotated[train_rows].toarray()
        for k in range(learned.shape[1]):
            if learned[:, k].all() or not learned[:, k].any():
                probabilities[rows, k] = learned[0, k]
                continue
            model = LogisticRegression(max_iter=1000).fit(task.features[train_rows], learned[:, k])
            probabilities[rows, k] = model.predict_proba(task.features[rows])[:, 1]
    return _by_cleanlab(task, probabilities)


def by_cleanlab_and_mpu(task: Task) -> Ranking:
    """Rank by cleanlab, on probabilities of binary relevance by `mpu`."""
    options = Options(levels=1, c=1.0)
    _, report = train(Problem(task.features, task.annotated), options, Run(), hold_out_all=True, calibrated=False)
    return _by_cleanlab(task, report.held_out.probabilities.astype(float))


def _by_cleanlab(task: Task, probabilities: np.ndarray) -> Ranking:
    from cleanlab.multilabel_classification import filter as issues
    from cleanlab.multilabel_classification import rank

    labels = [row.nonzero()[0].tolist() for row in task.annotated.toarray()]
    found = np.array(issues.find_multilabel_issues_per_class(labels, probabilities, n_jobs=1))
    quality = rank.get_label_quality_scores_per_class(labels, probabilities)
    rows, columns = np.nonzero(~task.annotated.toarray())
    order = np.lexsort((quality[rows, columns], ~found[rows, columns].astype(bool)))
    return rows[order], columns[order]


WAYS: dict[str, Callable[[Task], Ranking]] = {
    "mpu suggest": by_mpu,
    "cleanlab on scikit-learn's logistic regression": by_cleanlab_and_scikit_learn,
    "cleanlab on binary relevance by mpu": by_cleanlab_and_mpu,
}


def precision(task: Task, ranking: Ranking, size: int) -> float:
    """Return the share of the first cells of a ranking that were removed."""
    rows, columns = (index[:size] for index in ranking)
    return float(task.missing[rows, columns].sum() / max(size, 1))


def table(folder: Path, sets: list[str], rate: float, seed: int) -> Iterator[str]:
    """Yield the lines of a Markdown table."""
    yield "| set | R | way | precision at R | at R/10 | seconds |"
    yield "|---|---|---|---|---|---|"
    for number, name in enumerate(sets):
        task = remove(folder / f"{name}-train.svm.gz", rate, seed)
        if not number:
            by_mpu(task)  # compiles, or reads what was compiled
        for way, rank in WAYS.items():
            start = time.perf_counter()
            ranking = rank(task)
            seconds = time.perf_counter() - start
            at = [precision(task, ranking, size) for size in (task.removed, max(task.removed // 10, 1))]
            yield f"| {name} | {task.removed:,} | {way} | {at[0]:.3f} | {at[1]:.3f} | {seconds:.1f} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", type=Path, help="where SET-train.svm.gz are")
    parser.add_argument("--sets", default=SETS)
    parser.add_argument("--missing-rate", type=float, default=0.3)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    for line in table(given.folder, given.sets.split(","), given.missing_rate, given.seed):
        print(line, flush=True)


if __name__ == "__main__":
    main()
