"""Which labels may be suggested: files with a label on each line, by number, name or URI."""

import logging
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mpu_cli.errors import InputError, counted, shown
from mpu_cli.names.beside import find_deprecated
from mpu_cli.names.label_names import LabelNames, as_number
from mpu_cli.names.lines import read_each, text_lines
from mpu_cli.names.uris import without_brackets
from mpu_cli.svmlight.sources import Source

if TYPE_CHECKING:
    import numpy as np

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Suggestible:
    """The labels that may be suggested, in files; probabilities do not depend on it.

    Attributes
    ----------
    only, exclude : str, Path or None
        Labels that may be suggested, and labels that may not. What follows a tab in a line is not looked at.
    deprecated : Path or None
        Labels that a thesaurus no longer wants, by number. Those that `only` names may be suggested all the same.
    """

    only: str | Path | None = None
    exclude: str | Path | None = None
    deprecated: Path | None = None

    def beside(self, source: Source) -> "Suggestible":
        """Return the same, without labels that are deprecated in the thesaurus which the data were made with."""
        return replace(self, deprecated=find_deprecated(source))

    def by_option(self) -> dict[str, Any]:
        """Return the files by the options that name them, as `runtime.files.refuse_overlaps` takes them."""
        return {"--only": self.only, "--exclude": self.exclude}

    def of(self, ids: "np.ndarray", names: LabelNames | None) -> "np.ndarray | None":
        """Tell which of some labels may be suggested: bool, shape (q,); None where all may.

        Parameters
        ----------
        ids : ndarray of int, shape (q,)
        names : LabelNames or None

        Raises
        ------
        InputError
            A file cannot be read, names a label by a name of several, or none of the labels.
        """
        if self.only is None and self.exclude is None and self.deprecated is None:
            return None
        import numpy as np  # heavy, and every command imports this module

        allowed = np.ones(len(ids), bool)
        if self.only is not None:
            allowed &= np.isin(ids, _labels(self.only, ids, names))
        elif self.deprecated is not None:
            numbers = [number for line in text_lines(self.deprecated) if (number := as_number(line)) is not None]
            allowed &= ~np.isin(ids, numbers)
        if self.exclude is not None:
            allowed &= ~np.isin(ids, _labels(self.exclude, ids, names))
        return allowed


EVERY_LABEL = Suggestible()


def _labels(source: str | Path, ids: "np.ndarray", names: LabelNames | None) -> "np.ndarray":
    """Read labels; those that are not in use are counted in a message."""
    import numpy as np

    labels: list[int] = []
    lines = 0

    def read(line: str) -> None:
        nonlocal lines
        text = without_brackets(line.partition("\t")[0].strip())
        if text:
            lines += 1
            number = as_number(text) if names is None else names.find(text)
            labels.extend([] if number is None else [number])

    read_each(text_lines(source), source, read)
    used = np.isin(labels, ids)
    if not used.any():
        raise InputError(str(source), None, "no line of it is the number or a name of a label; each should be one")
    if absent := lines - int(used.sum()):
        _log.info(f"{shown(source)}: {counted(absent, 'line')} of {lines:,} on labels that are not in use")
    return np.array(labels)
