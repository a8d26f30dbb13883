"""The paper: loss, PU-SGD, stacking, label frequency and thresholds. Arrays in, arrays out."""
