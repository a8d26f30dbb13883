"""Texts: read records from files, turn them into vectors, and write the sidecar files of the result."""
