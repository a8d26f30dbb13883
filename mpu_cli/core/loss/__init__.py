"""The losses that a level can minimise."""
