"""Compare methods as Kong et al. 2014, Section 3, do: cross-validated, at several shares of missing labels."""
