"""The paper: loss, PU-SGD, stacking, label frequency and thresholds. Arrays in, arrays out.

Unless a docstring states otherwise, there are n instances, D features and q labels, and

- ``labels`` or ``annotated``: annotated labels, csr_array of bool, n x q; ``features`` or ``matrix``: their features;
- ``probabilities`` or ``predictions``: float32, n x q, from models that have not seen the instances: an ndarray, or a
  csr_array with the largest ones of each instance;
- ``frequency`` and ``verified``: for these instances and labels; ``rates``: label frequencies, float64, shape (q,);
- ``annotations``: the number of instances annotated with each label, int, shape (q,); ``weights``: how many labels each
  label represents, float64, shape (q,), or None: only itself;
- ``kin``: int, shape (n,): instances with equal numbers stay in one fold; None: all differ; ``folds``: their folds;
- ``cost``: C; ``run``: its seed determines all random draws; ``tick``: called once per unit of work.
"""
