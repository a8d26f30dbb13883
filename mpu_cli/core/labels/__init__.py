"""Information about labels besides annotations: human verdicts, implications, names."""
