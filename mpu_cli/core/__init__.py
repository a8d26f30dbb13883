"""The paper: loss, PU-SGD, stacking, label frequency and thresholds. Arrays in, arrays out.

Where docstrings do not say otherwise, there are n instances, D features and q labels, and

- ``labels`` or ``annotated``: annotated labels, csr_array of bool, n x q; ``features`` or ``matrix``: of the instances;
- ``probabilities`` or ``predictions``: float32, n x q, by models that have not seen the instances: an ndarray, or a
  csr_array of the largest of each instance;
- ``frequency`` and ``verified``: of these instances and labels; ``rates``: label frequencies, float64, q of them;
- ``annotations``: how many instances are annotated with each label, int, q of them; ``weights``: how many labels each
  stands for, float64, q of them, or None: each for itself;
- ``kin``: int, n of them: instances with equal numbers stay in one fold; None: all differ; ``folds``: that of each;
- ``cost``: C; ``run``: its seed is that of all random draws; ``tick``: is called once for each unit of work.
"""
