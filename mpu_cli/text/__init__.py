"""Texts: records read from files, made vectors, and what is kept of that beside the data."""
