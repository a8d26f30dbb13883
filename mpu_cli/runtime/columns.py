"""Match the columns of arguments by their names, as data frames and series have them."""

from collections import Counter
from typing import Any

from mpu_cli.errors import DataError


def columns_of(values: Any) -> list[Any] | None:
    """Return the column names of a data frame, or the index of a series; None if it has none."""
    columns = getattr(values, "columns", getattr(values, "index", None))
    return None if columns is None or callable(columns) else list(columns)


def in_order_of(names: Any, values: Any, name: str, whose: str = "y") -> Any:
    """Return a data frame with its columns, or a series, in the order of these names; others unchanged.

    Names that are 0, 1, 2 and so on, or None, are numbers of columns: they match only the same numbers, in any order.
    """
    own = columns_of(values)
    if own is None:
        return values
    wanted = list(range(len(own))) if names is None else list(names)
    different = [*(Counter(wanted) - Counter(own)), *(Counter(own) - Counter(wanted))]
    if wanted == own or len(wanted) != len(own) or (different and list(range(len(own))) in (own, wanted)):
        return values  # what has another shape may broadcast, or is refused for its shape
    if different:
        raise DataError(
            f"{name} and {whose} differ in their columns: {different[0]!r} is not in both; give the same, or an array"
        )
    return values[wanted]
