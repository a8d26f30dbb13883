"""Whether mpu by default is at least as good as binary relevance where data are few.

    python -m benchmarks.few_data DIRECTORY results.tsv
    python -m benchmarks.few_data DIRECTORY results.tsv --table

Training instances are drawn from complete training files, and part of their labels is removed; a draw of more instances
contains that of fewer. The test is that of all instances of the test files. Methods learn from the same draws. Binary
relevance has a tuned threshold (`mpu_cli.experiment.methods`), mpu its own. What results.tsv has is not
computed again, so the run may be stopped at any time. `docs/choices/training.md` has the table.
"""

import argparse
import csv
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from benchmarks import losing
from mpu_cli.errors import MpuError
from mpu_cli.evaluation.metrics import LabelSetMetrics
from mpu_cli.experiment.cells import remove_labels
from mpu_cli.experiment.methods import fit_and_predict
from mpu_cli.runtime.run import Run
from mpu_cli.svmlight.reader import Dataset

SETS = ("bibtex", "reuters-topics", "yeast", "rcv1-small", "digits")
SIZES = ("200", "500", "1000", "2000", "all")
RATES = (0.0, 0.6, 0.8)
DRAWS = 5
RIVALS = {"mpu": "mpu", "mpu, one level": "mpu:levels=1", "br": "br:tuned=True"}
_KEY = ("set", "instances", "missing", "draw", "method")
_FOUND = ("micro_f1", "macro_f1", "c", "seconds")


def measure(of: losing.Collection, instances: int, missing: float, draw: int, rival: str) -> tuple[float, ...]:
    """Learn and test: micro-F1, macro-F1, the c that was used, processor seconds."""
    rows = np.sort(np.random.default_rng(draw).permutation(of.Y.shape[0])[:instances])
    training = Dataset(remove_labels(of.Y[rows], missing, (draw,)), of.X[rows])
    test = Dataset(of.Y_test, of.X_test)
    run = Run(seed=draw, jobs=1)
    start = time.process_time()
    predicted = fit_and_predict(RIVALS[rival], training, test, run)
    seconds = time.process_time() - start
    counts = LabelSetMetrics()
    counts.add(of.Y_test, csr_array(predicted.scores >= predicted.thresholds))
    found = counts.results()
    return found["micro_f1"], found["macro_f1"], predicted.c, seconds


def measure_all(data: Path, results: Path, sets: list[str], sizes: list[str], draws: int, rivals: list[str]) -> None:
    """Append to the results what they lack, small draws first."""
    done = {tuple(row[name] for name in _KEY) for row in _rows(results)} if results.exists() else set()
    collections = {name: losing.collection(name, data) for name in sets}
    with results.open("a", newline="") as file:
        table = csv.writer(file, delimiter="\t", lineterminator="\n")
        if not done:
            table.writerow(_KEY + _FOUND)
        for key in product(sizes, range(draws), sets, RATES, rivals):
            size, draw, name, missing, rival = key
            of = collections[name]
            if of is None or (name, size, str(missing), str(draw), rival) in done:
                continue
            instances = of.Y.shape[0] if size == "all" else int(size)
            if size != "all" and instances >= of.Y.shape[0]:
                continue
            try:
                found = measure(of, instances, missing, draw, rival)
            except MpuError as error:
                print(f"{key}: {error}", file=sys.stderr)
                continue
            table.writerow([name, size, missing, draw, rival, *(f"{value:.5g}" for value in found)])
            file.flush()


def _rows(results: Path) -> list[dict[str, str]]:
    with results.open(newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def table(results: Path, rival: str) -> Iterator[str]:
    """Yield a table: mean micro-F1 of mpu and of binary relevance, and in how many draws the former is ahead."""
    found: dict[tuple[str, str, str], dict[str, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    for row in _rows(results):
        found[row["set"], row["missing"], row["instances"]][row["draw"]][row["method"]] = float(row["micro_f1"])
    sizes = [size for size in SIZES if any(key[2] == size for key in found)]
    yield "| set, missing | " + " | ".join(sizes) + " |"
    yield "|---|" + "---|" * len(sizes)
    for name, missing in product(SETS, RATES):
        cells = []
        for size in sizes:
            draws = found.get((name, str(missing), size), {}).values()
            pairs = np.array([(draw[rival], draw["br"]) for draw in draws if {rival, "br"} <= draw.keys()])
            cells.append(_cell(pairs) if len(pairs) else "")
        if any(cells):
            yield f"| {name}, {missing:.0%} | " + " | ".join(cells) + " |"


def _cell(pairs: np.ndarray) -> str:
    ours, theirs = pairs.mean(axis=0)
    ahead = np.count_nonzero(pairs[:, 0] > pairs[:, 1])
    return f"{ours:.3f}, {theirs:.3f} ({ahead} of {len(pairs)})".replace("0.", ".")


def main() -> None:
    """Measure, or print the table of what has been measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="directory of the sets; those that are not there are left out")
    parser.add_argument("results", type=Path, help="tab-separated file, made or gone on with")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--sizes", default=",".join(SIZES))
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--methods", nargs="+", choices=RIVALS, default=list(RIVALS))
    parser.add_argument("--table", action="store_true", help="print the table of what has been measured")
    parser.add_argument("--rival", choices=[name for name in RIVALS if name != "br"], default="mpu")
    given = parser.parse_args()
    if given.table:
        print("\n".join(table(given.results, given.rival)))
    else:
        sets, sizes = given.sets.split(","), given.sizes.split(",")
        measure_all(given.data, given.results, sets, sizes, given.draws, given.methods)


if __name__ == "__main__":
    main()
