"""The version of mpu, in its own module so that every part can name it without importing the others."""

__version__ = "1.0.0"
