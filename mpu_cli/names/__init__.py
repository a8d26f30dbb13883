"""Names of labels and ids of instances, which people read and write in place of numbers.

Only this package knows how files of names are read, where they are, and how a label is written by name so that it reads
back as the same label. Everything else computes with numbers.
"""

from mpu_cli.names.label_names import LabelNames, RecordIds
from mpu_cli.names.naming import BESIDE, EVERY_LABEL, Naming, Suggestible, read_ids

__all__ = ["BESIDE", "EVERY_LABEL", "LabelNames", "Naming", "RecordIds", "Suggestible", "read_ids"]
