"""``mpu predict``."""
