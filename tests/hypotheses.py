"""How many examples of a property are tried."""

from hypothesis import settings


def examples(full: int) -> int:
    """Return so many, where a test that names no number has 100, and in proportion where a profile has fewer."""
    return max(1, full * settings.default.max_examples // 100)
