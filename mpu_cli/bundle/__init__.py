"""A trained model on disk: a directory with files of arrays and a JSON manifest that names them.

A reader sees the old model or the new one, never a mixture: the files are named after their content, and the manifest
is replaced last, by a rename. Nothing is unpickled, and everything is checked before use, so that an untrusted
directory can do no harm.
"""

from mpu_cli.bundle.loading import FORMAT_VERSION, MANIFEST, TrainedModel, load
from mpu_cli.bundle.writing import Writer, save

__all__ = ["FORMAT_VERSION", "MANIFEST", "TrainedModel", "Writer", "load", "save"]
