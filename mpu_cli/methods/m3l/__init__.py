"""M3L: max-margin multi-label learning with a prior of label correlations (Hariharan et al. 2010, 2012)."""
