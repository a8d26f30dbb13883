"""A record of the finished steps of a training, so that an interrupted one need not take them again."""

from collections.abc import Callable
from typing import Any

# What a step found: arrays and numbers by name.
Found = dict[str, Any]


class Journal:
    """A record that keeps nothing: every step is taken. One that keeps them overrides `kept` and `keep`."""

    def kept(self, step: str) -> Found | None:
        """Return what a step found; None where it has not been finished."""
        return None

    def keep(self, step: str, found: Callable[[], Found]) -> None:
        """Keep what a step found; `found` is called only where that is kept, since it may copy much."""

    def take(self, step: str, compute: Callable[[], Found]) -> Found:
        """Return what a step found: from the record, or computed now and kept."""
        found = self.kept(step)
        if found is None:
            found = compute()
            self.keep(step, lambda: found)
        return found


NO_JOURNAL = Journal()
