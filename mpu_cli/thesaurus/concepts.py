"""A concept of a thesaurus."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Concept:
    """A concept.

    Attributes
    ----------
    uri : str
    names : dict
        The preferred name in each language; "" for one without a language.
    others : dict
        Further names in each language.
    broader : tuple of str
        URIs of broader concepts.
    deprecated : bool
    """

    uri: str
    names: Mapping[str, str]
    others: Mapping[str, Sequence[str]] = field(default_factory=dict)
    broader: tuple[str, ...] = ()
    deprecated: bool = False

    def names_in(self, language: str) -> tuple[str, ...]:
        """Return the names in a language, or else without one, or else in the first one, with the URI last."""
        spoken = next((name for name in (language, "", *sorted(self.names)) if name in self.names), language)
        preferred = [self.names[spoken]] if spoken in self.names else []
        others = [other for name in dict.fromkeys((spoken, "")) for other in self.others.get(name, ())]
        return (*dict.fromkeys([*preferred, *others]), self.uri)
