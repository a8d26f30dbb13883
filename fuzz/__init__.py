"""Coverage-guided fuzzing with atheris: ``make fuzz``. A target fails on anything but a clean result or `MpuError`."""
