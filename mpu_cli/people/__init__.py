"""Find missing labels, and estimate their number."""
