"""The trained model: stacked levels, calibration, thresholds, explanation."""
