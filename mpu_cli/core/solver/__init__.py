"""Solvers: from features and annotations to the linear model of a level."""
