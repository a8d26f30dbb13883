"""A command as a process that gets signals, forked from one that has loaded what it needs."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

from mpu_cli.__main__ import main
from tests import forked


class Started:
    """``mpu`` with arguments, as `subprocess.Popen` has it: its standard output and standard error are pipes.

    `program`: a function of a module that runs instead, such as `mpu` with changes; `stdin`: what it reads;
    `redirected`: where standard output goes instead.
    """

    def __init__(
        self,
        *arguments,
        program: Callable[[], None] | None = None,
        stdin: int | None = None,
        redirected: int | None = None,
        cwd: Path | str = ".",
    ) -> None:
        (out, to_out), (error, to_error) = os.pipe(), os.pipe()
        nothing = os.open(os.devnull, os.O_RDONLY)
        streams = nothing if stdin is None else stdin, to_out if redirected is None else redirected, to_error
        self._process = forked.start(program or _main, list(map(str, arguments)), streams, str(cwd))
        for number in (nothing, to_out, to_error):
            os.close(number)
        self.stdout, self.stderr = os.fdopen(out), os.fdopen(error)
        self.pid = self._process.pid

    def send_signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self) -> int:
        """Wait for the end; give the status."""
        self._process.join()
        return self._process.exitcode

    def end(self) -> tuple[str, str, int]:
        """Wait for the end; give what is left of standard output and of standard error, and the status."""
        error = self.stderr.read()
        return self.stdout.read(), error, self.wait()

    def close(self) -> None:
        """Kill it, unless it has ended."""
        self._process.kill()
        self.wait()
        self.stdout.close()
        self.stderr.close()


def _main() -> None:
    main()
