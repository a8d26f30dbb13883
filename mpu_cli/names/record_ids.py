"""Ids of the records that instances were made of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from mpu_cli.names.cells import cell, meanings
from mpu_cli.names.label_names import quoted


@dataclass(frozen=True)
class RecordIds:
    """An id for each instance, in their order. Several records may have the same one.

    Attributes
    ----------
    texts : sequence of str, or mapping
        By instance, from 0. A mapping need not have every instance.

    Examples
    --------
    >>> ids = RecordIds(["b1", "b2", "b1"])
    >>> ids.texts[1], ids.instance("b2"), ids.is_of("b1", 2)
    ('b2', 1, True)
    >>> RecordIds({7: "b8"}).instance("b8")
    7
    """

    texts: Sequence[str] | Mapping[int, str]

    def instance(self, text: str) -> int:
        """Return the instance, from 0, of an id, possibly as a cell (see `cells`); ValueError: none, or several."""
        for form in meanings(text):
            if instances := self.instances.get(form):
                self.refuse_several(form)
                return instances[0]
        raise ValueError(f"no record has the id {quoted(text)}")

    def refuse_several(self, key: str) -> None:
        """Raise ValueError if several records have an id."""
        if len(self.instances.get(key, ())) > 1:
            raise ValueError(f"several records have the id {key!r}; make ids unique, or leave out decisions on them")

    def is_of(self, text: str, instance: int) -> bool:
        """Whether a text, possibly a cell, is the id of an instance."""
        own = self.texts[instance]
        return text == cell(own) or own in meanings(text)

    @cached_property
    def instances(self) -> dict[str, list[int]]:
        """The instances of each id, from 0, ascending."""
        instances: dict[str, list[int]] = {}
        for instance, text in self.texts.items() if isinstance(self.texts, Mapping) else enumerate(self.texts):
            instances.setdefault(text, []).append(instance)
        return instances
