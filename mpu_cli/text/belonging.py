"""Whether data are those that the directories beside them were made with."""

import numpy as np

from mpu_cli.errors import InputError, shown
from mpu_cli.names import LabelNames, Naming
from mpu_cli.names.beside import IDS, LABELS, folder_of
from mpu_cli.svmlight.content import Content, Contents, Counted
from mpu_cli.svmlight.sources import Source, files_of
from mpu_cli.svmlight.streams import BLOCK_BYTES, open_input
from mpu_cli.text.directory import made_with


class Belonging:
    """What the manifests beside files say of the content of these files, and whether it is so.

    Parameters
    ----------
    source : str, Path or Files

    Attributes
    ----------
    contents : dict
        Names the files that have such a manifest. It is for the reader, which looks at their content while it reads.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        found = {file: made_with(file) for file in files_of(source)}
        self._expected = {file: (made.bytes, made.sha256) for file, made in found.items() if made is not None}
        self.contents: Contents = dict.fromkeys(self._expected)

    def stranger(self) -> str | None:
        """Return the first file whose directory belongs to other data; None if there is none."""
        return next((file for file, expected in self._expected.items() if self._content(file) != expected), None)

    def names_of(self, naming: Naming, labels: np.ndarray, *, endless: bool = False) -> LabelNames | None:
        """Return what `Naming.names_of` does of the data.

        Raises
        ------
        InputError
            Also where the names beside the data belong to others.
        """
        if naming.file is None:
            self._refuse(LABELS, "; or name the labels by --labels")
        return naming.names_of(labels, self._source, endless=endless)

    def refuse_ids(self) -> None:
        """Raise InputError where the ids beside the data belong to others."""
        self._refuse(IDS)

    def _refuse(self, name: str, otherwise: str = "") -> None:
        file = self.stranger()
        if file is not None and (kept := folder_of(file) / name).is_file():
            raise InputError(
                str(kept),
                None,
                f"belongs to other data than {shown(file)}, which is not as mpu vectorize wrote it: make both anew by "
                f"mpu vectorize, or move {kept.parent.name} away{otherwise}",
            )

    def _content(self, file: str) -> Content:
        """Return the content of a file, which is read here where others have read its instances."""
        content = self.contents[file]
        if content is None:
            with open_input(file) as stream:
                counted = Counted(stream)
                while counted.read(BLOCK_BYTES):
                    pass
            content = self.contents[file] = counted.content()
        return content
