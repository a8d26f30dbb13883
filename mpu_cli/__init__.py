"""Multi-label learning when part of the training labels is missing."""

__version__ = "0.1.0"
