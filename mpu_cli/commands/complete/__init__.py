"""``mpu complete`` and ``mpu estimate-c``."""
