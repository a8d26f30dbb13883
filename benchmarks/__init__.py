"""Benchmarks: data in the shape of RCV1, `mpu` against other tools, and what the machine could do."""
