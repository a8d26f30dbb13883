"""``mpu evaluate``."""
