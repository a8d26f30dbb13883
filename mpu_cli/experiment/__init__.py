"""Compare methods as in Kong et al. 2014, Section 3: cross-validated, with several shares of missing labels."""
