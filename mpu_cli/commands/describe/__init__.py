"""``mpu info``."""
