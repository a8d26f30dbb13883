"""Held-out predictions: cross-validation, nested cross-validation, halves, progressive validation."""
