"""``mpu train``."""
