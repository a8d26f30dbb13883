"""Data files: read for a training, made of texts, or with labels removed."""
