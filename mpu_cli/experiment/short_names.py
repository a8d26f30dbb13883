"""Short names of methods, for figures: their options are left out where they do not tell methods apart."""

from collections import Counter, defaultdict
from collections.abc import Sequence


def short_names(labels: Sequence[str]) -> dict[str, str]:
    """Return a name for each label of a method, such as ``mpu:levels=1:c=0.7``.

    Options that all methods of the same name share are left out. Where two names would then be the same, all options
    are kept.

    Examples
    --------
    >>> short_names(["mpu:c=0.7:cost=100", "mpu:levels=1:c=0.7:cost=100", "br:cost=100"])
    {'mpu:c=0.7:cost=100': 'mpu', 'mpu:levels=1:c=0.7:cost=100': 'mpu, levels=1', 'br:cost=100': 'br'}
    """
    groups = defaultdict(list)
    for label in labels:
        name, *options = label.split(":")
        groups[name].append(options)
    found = {}
    for label in labels:
        name, *options = label.split(":")
        own = [option for option in options if not all(option in others for others in groups[name])]
        found[label] = ", ".join([name, *own])
    twice = Counter(found.values())
    return {label: short if twice[short] == 1 else label for label, short in found.items()}
