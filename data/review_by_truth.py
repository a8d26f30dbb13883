"""Review a file as a person would who knows the truth: for the demo, and to try things out.

Usage: python data/review_by_truth.py TRUTH.svm SUGGESTIONS.tsv [--sample N] [--suggestions N] [--seed N] > checked

Writes a review file for the data that SUGGESTIONS.tsv, of `mpu suggest`, is about. In it are N instances drawn at
random, of which every true label is named, and the first N suggestions, each with yes or no.
"""

import argparse
import random
from pathlib import Path


def main() -> None:
    """Write the review."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("truth", type=Path)
    parser.add_argument("missing", type=Path)
    parser.add_argument("--sample", type=int, default=100)
    parser.add_argument("--suggestions", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()

    lines = arguments.truth.read_text().splitlines()
    truth = [[label for label in line.split(" ")[0].split(",") if label] for line in lines]
    drawn = random.Random(arguments.seed).sample(range(len(truth)), arguments.sample)
    text = arguments.missing.read_text().splitlines()
    print(*(line for line in text if line.startswith("#")), sep="\n")  # by which data the numbers are known
    print("instance", "label", "verdict", "source", sep="\t")
    for i in drawn:
        for label in truth[i]:
            print(i + 1, label, "yes", "sample", sep="\t")
        print(i + 1, "*", "no", "sample", sep="\t")
    suggested = [line.split("\t")[:2] for line in text if not line.startswith("#")][1 : arguments.suggestions + 1]
    for instance, label in suggested:
        if int(instance) - 1 not in drawn:
            print(instance, label, "yes" if label in truth[int(instance) - 1] else "no", "suggestion", sep="\t")


if __name__ == "__main__":
    main()
