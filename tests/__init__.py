"""Tests, of which as many run at the same time as there are cores.

So BLAS and OpenMP get one thread each, here and in what tests start: several threads of several processes wait for each
other in loops, which takes up to six times the processor time. `make test-blas` has two threads.
"""

import os

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_name, "1")  # before anything imports NumPy
