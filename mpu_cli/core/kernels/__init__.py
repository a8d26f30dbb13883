"""The inner loops. `numpy_kernel` is the reference."""
