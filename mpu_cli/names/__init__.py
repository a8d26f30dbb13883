"""Names of labels, and ids of instances: what people read and write in place of numbers.

Here alone is decided how files of names are read, where they are found, and how a label is written by name so that it
reads back as the same label. Everything else computes with numbers.
"""

from mpu_cli.names.beside import read_ids
from mpu_cli.names.label_names import LabelNames
from mpu_cli.names.naming import BESIDE, Naming

__all__ = ["BESIDE", "LabelNames", "Naming", "read_ids"]
