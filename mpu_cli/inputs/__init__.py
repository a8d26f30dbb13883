"""Training data and the files beside them, as read by the commands and the Python API."""
