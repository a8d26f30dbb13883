"""The names of the labels of a data file."""

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mpu_cli.errors import InputError, counted, shown
from mpu_cli.names.beside import find_names, is_kept
from mpu_cli.names.label_names import LabelNames
from mpu_cli.names.name_files import read_names
from mpu_cli.svmlight.sources import Source

if TYPE_CHECKING:
    import numpy as np

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Naming:
    """Options for the names of labels.

    Attributes
    ----------
    file : str, Path or None
        A file of names (see `files`). Default: the one beside the data, if there is one (`beside.find_names`).
    zero_based : bool
        Whether line k names label k - 1, where lines have no numbers. Always so if the data have a label 0, which would
        have no name otherwise.
    """

    file: str | Path | None = None
    zero_based: bool = False

    def names_of(self, labels: "np.ndarray", source: Source, *, endless: bool = False) -> LabelNames | None:
        """Read the names of the labels of a data file; log their file, and the names that several labels share.

        Parameters
        ----------
        labels : ndarray of int
            The labels that occur.
        source : str, Path or Files
            The data, as the user named them.
        endless : bool
            Whether the file may be endless. Then reading stops after the largest label, where lines have no numbers.

        Returns
        -------
        LabelNames or None
            None if there is no file of names.

        Raises
        ------
        InputError
            The file is not one of names, or does not fit the data: lines without numbers are fewer than the labels, or
            lines with numbers name none of them. Or the names beside several files differ.
        """
        file = find_names(source) if self.file is None else self.file
        if file is None:
            return None
        largest = int(labels.max(initial=0))
        first = 0 if self.zero_based or (len(labels) and labels.min() == 0) else 1
        by_number, is_numbered = read_names(file, first, largest if endless else None, never_numbered=is_kept(file))
        texts = {name for of_label in by_number.values() for name in of_label[:1]}
        # A label without a name whose number is also a name: `LabelNames` must know it to read the number as a label.
        nameless = [number for number in labels.tolist() if number not in by_number and str(number) in texts]
        names = LabelNames.of({**by_number, **dict.fromkeys(nameless, ())}, shown(file))
        named = sum(bool(by_number.get(number)) for number in labels.tolist())
        if is_numbered and len(labels) and not named:
            raise InputError(str(file), None, f"names none of the labels of {shown(source)}, such as {labels[0]}")
        if not is_numbered and len(labels) and largest not in by_number:
            line = "line k names label k" + " - 1" * (first == 0)
            raise InputError(
                str(file),
                None,
                f"has no name for label {largest} of {shown(source)}: {line}, of {len(by_number):,} lines; give the "
                "right file by --labels, or put a number and a tab before each name",
            )
        if self.file is None:
            _log.info(
                f"{names.source} names {named:,} of {counted(len(labels), 'label')}", extra={"counts": {"named": named}}
            )
        if not endless and (shared := names.shared()):
            _log.info(shared)
        return names


BESIDE = Naming()
