"""The label frequency c of every cell, and its estimates (Kong et al. 2014, Section 2.1, and later work)."""
