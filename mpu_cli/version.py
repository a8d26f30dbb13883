"""The version of mpu, in a module of its own so that every part can name it without importing the others."""

__version__ = "1.0.0"
