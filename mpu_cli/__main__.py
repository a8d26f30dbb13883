"""The process ``mpu``, also as ``python -m mpu_cli``: it handles signals before any slow import."""

import gc
import signal
import sys

# Number of new objects between garbage collections. Imports create half a million and no garbage; at Python's default
# of 700, collections took a sixth of the start-up time.
_OBJECTS = 100_000


def main() -> None:
    """Run ``mpu`` with the arguments of the process."""
    ending = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
    signal.pthread_sigmask(signal.SIG_BLOCK, ending)  # until a handler waits for them
    from mpu_cli.runtime import signals

    try:
        signals.watch()
    except RuntimeError:  # it starts a thread
        sys.exit(f"error: {signals.LIMIT_OF_THREADS}")
    gc.set_threshold(_OBJECTS)
    from mpu_cli.cli import messages
    from mpu_cli.cli.commands import mpu

    messages.prepare_streams()
    try:
        mpu(prog_name="mpu")
    finally:
        signals.too_late()
        messages.finish_streams()


if __name__ == "__main__":
    main()
