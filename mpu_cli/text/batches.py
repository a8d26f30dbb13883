"""Texts put together, so many that some megabytes of them are in memory."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

MOST_TEXTS, MOST_CHARACTERS = 1000, 1 << 22

T = TypeVar("T")


def batches(texts: Iterable[T], size: Callable[[Any], int] = len, most: int = MOST_TEXTS) -> Iterator[list[T]]:
    """Put texts together.

    Parameters
    ----------
    texts : iterable of str, or of what has texts
    size : callable
        Tells how many characters one has.
    most : int
        How many are put together at most; fewer where they are long.
    """
    batch: list[T] = []
    characters = 0
    for text in texts:
        batch.append(text)
        characters += size(text)
        if len(batch) == most or characters >= MOST_CHARACTERS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch
