"""The LIBSVM multi-label file format."""
