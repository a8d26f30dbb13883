"""A tree of topics as uneven as RCV1's."""

from dataclasses import dataclass

import numpy as np

MAX_DEPTH = 4

_TOP_SHARES = np.array([0.41, 0.25, 0.20, 0.14])  # of the draws, for each topic without a parent
_UNDER_TOP = 0.5  # share of the other topics that have one of those as their parent
_STAYS = 0.1  # share of a topic's draws that go to none of its children


@dataclass(frozen=True)
class TopicTree:
    """Topics, their ancestors, and how often each is drawn.

    Attributes
    ----------
    paths : ndarray, shape (q, MAX_DEPTH), int64
        The topic itself, then its ancestors upwards; the last of them fills the row.
    depths : ndarray, shape (q,), int64
        How many topics a row of `paths` begins with: 1 for a topic without a parent.
    shares : ndarray, shape (q,), float64
        Probability that a draw gives the topic; sums to 1.
    """

    paths: np.ndarray
    depths: np.ndarray
    shares: np.ndarray


def grow(labels: int, rng: np.random.Generator) -> TopicTree:
    """Grow a tree: each topic gets an earlier one as its parent; siblings' shares fall as 1 / rank."""
    tops = min(labels, len(_TOP_SHARES))
    parents = np.full(labels, -1)
    paths = np.zeros((labels, MAX_DEPTH), np.int64)
    paths[:tops] = np.arange(tops)[:, None]
    depths = np.ones(labels, np.int64)
    inner: list[int] = []  # topics with a parent that may have children
    for topic in range(tops, labels):
        under_top = not inner or rng.random() < _UNDER_TOP
        parent = rng.integers(tops) if under_top else inner[rng.integers(len(inner))]
        parents[topic] = parent
        paths[topic] = [topic, *paths[parent, :-1]]
        depths[topic] = depths[parent] + 1
        if depths[topic] < MAX_DEPTH:
            inner.append(topic)
    return TopicTree(paths, depths, _shares(parents, tops))


def _shares(parents: np.ndarray, tops: int) -> np.ndarray:
    """Hand each topic's share down to its children; parents come before their children."""
    shares = np.zeros(len(parents))
    shares[:tops] = _TOP_SHARES[:tops] / _TOP_SHARES[:tops].sum()
    by_parent = np.argsort(parents, kind="stable")
    starts = np.searchsorted(parents[by_parent], np.arange(len(parents) + 1))
    for topic in range(len(parents)):
        children = by_parent[starts[topic] : starts[topic + 1]]
        if len(children):
            weights = 1 / np.arange(1, len(children) + 1)
            shares[children] = (1 - _STAYS) * shares[topic] * weights / weights.sum()
            shares[topic] *= _STAYS
    return shares
