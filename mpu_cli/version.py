"""The version of mpu, in a module of its own so that every part can name it without importing the others."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("mpu-cli")  # of tags and commits, by setuptools-scm, when it was built or installed
except PackageNotFoundError:  # a copy of the source that was never installed
    __version__ = "0.1.dev0"
