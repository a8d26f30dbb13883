"""From data to a trained model: what commands and the Python API share."""
