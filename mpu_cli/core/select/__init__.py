"""Hyper-parameter selection, on a sample of the instances."""
