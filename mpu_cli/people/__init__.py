"""Find missing labels, and estimate their number. Arguments are named as in `core`."""
