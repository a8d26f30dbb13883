"""Texts: reading records from files, making vectors of them, and the sidecar files of the result."""
