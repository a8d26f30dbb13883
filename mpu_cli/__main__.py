"""The process ``mpu``, also as ``python -m mpu_cli``: it heeds signals before it imports anything that takes time."""

import signal


def main() -> None:
    """Run ``mpu`` with the arguments of the process."""
    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))  # until there is one who waits for them
    from mpu_cli import signals

    signals.watch()
    from mpu_cli.cli import mpu

    try:
        mpu(prog_name="mpu")
    finally:
        signals.too_late()


if __name__ == "__main__":
    main()
