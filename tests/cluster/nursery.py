"""A process that has loaded what a scheduler or worker loads, and whose copies become such: that takes no second.

It runs as a script. Each line of standard input is a request in JSON, and each gets a line in answer:

- ``["start", kind, arguments, folder]`` gives the id of a new process, which works in the folder and has its log there;
- ``["poll", id]`` gives the status with which it has ended, or null;
- ``["wait", id]`` gives the status after it has ended.

At the end of standard input it ends, and all that it has started with it.
"""

import gc
import json
import os
import signal
import sys
import traceback
from contextlib import suppress

from distributed.cli.dask_scheduler import main as scheduler
from distributed.cli.dask_worker import main as worker

import mpu_cli.cli.actions.predict
import mpu_cli.cluster.training
import mpu_cli.inputs.training_data
from mpu_cli.runtime.run import DEFAULT_RUN

if DEFAULT_RUN.compiled:
    import mpu_cli.core.kernels.numba_kernel
    import mpu_cli.svmlight.numba_parser  # noqa: F401

KINDS = {"scheduler": scheduler, "worker": worker}


def main() -> None:
    gc.freeze()
    running: set[int] = set()
    for line in sys.stdin:
        act, *arguments = json.loads(line)
        if act == "start":
            answer = _start(*arguments)
            running.add(answer)
        else:
            (process,) = arguments
            ended, status = os.waitpid(process, os.WNOHANG if act == "poll" else 0)
            answer = os.waitstatus_to_exitcode(status) if ended else None
            running -= {ended}
        print(json.dumps(answer), flush=True)
    for process in running:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


def _start(kind: str, arguments: list[str], folder: str) -> int:
    process = os.fork()
    if process:
        return process
    status = 1
    try:
        os.chdir(folder)
        log = os.open("log.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for here, there in ((nothing, 0), (log, 1), (log, 2)):
            os.dup2(here, there)
        sys.argv[1:] = arguments
        KINDS[kind](standalone_mode=False)
        status = 0
    except Exception:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    main()
