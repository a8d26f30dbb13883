"""The public face for Python."""
