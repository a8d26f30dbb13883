"""``python -m mpu_cli`` is ``mpu``."""

from mpu_cli.cli import mpu

if __name__ == "__main__":
    mpu(prog_name="mpu")
