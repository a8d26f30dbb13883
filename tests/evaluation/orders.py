"""All rankings that score lists allow: tied labels in every order."""

from collections.abc import Iterator
from itertools import groupby, permutations, product


def rankings(scores: dict[int, float]) -> Iterator[list[int]]:
    """Give each order of the labels by descending score; labels that are not in `scores` are in none."""
    ordered = sorted(scores, key=scores.get, reverse=True)
    groups = [list(group) for _, group in groupby(ordered, key=scores.get)]
    for parts in product(*(permutations(group) for group in groups)):
        yield [label for part in parts for label in part]


def mean_over_rankings(scores: dict[int, float], value) -> float:
    """Average a function of a ranking over all of them."""
    values = [value(ranking) for ranking in rankings(scores)]
    return sum(values) / len(values)
