"""Batches of texts of a few megabytes."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

MOST_TEXTS, MOST_CHARACTERS = 1000, 1 << 22

T = TypeVar("T")


def batches(texts: Iterable[T], size: Callable[[Any], int] = len, most: int = MOST_TEXTS) -> Iterator[list[T]]:
    """Group texts into batches.

    Parameters
    ----------
    texts : iterable of str, or of objects with texts
    size : callable
        Returns the number of characters of one.
    most : int
        Largest number of texts in a batch; long texts make smaller ones.
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
