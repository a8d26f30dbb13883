"""Side information about labels: features of their own, similar labels, labels that imply others."""
