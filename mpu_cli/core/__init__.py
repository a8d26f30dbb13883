"""The paper: loss, PU-SGD, stacking, label frequency and thresholds. Arrays in, arrays out.

Where docstrings do not say otherwise, there are n instances, D features and q labels, and

- ``labels`` or ``annotated``: annotated labels, csr_array of bool, n x q; ``features`` or ``matrix``: of the instances;
- ``frequency`` and ``verified``: of these instances and labels; ``rates``: label frequencies, float64, q of them;
- ``cost``: C.
"""
