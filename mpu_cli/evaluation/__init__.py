"""Metrics of predicted label sets and scores, against complete and incomplete labels."""
