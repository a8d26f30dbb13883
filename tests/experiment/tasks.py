"""What processes are asked to do in tests: functions that they can import."""

import os
import signal
import sys

from mpu_cli.errors import MpuError


def work(task: str):
    match task:
        case "exit":
            os._exit(3)
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "abort":
            signal.signal(signal.SIGABRT, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGABRT)
        case "refuse":
            raise MpuError("too large, take less")
        case "bug":
            raise ZeroDivisionError("over\nnothing")
        case "memory":
            raise MemoryError
        case "pid":
            return os.getpid()
        case "modules":
            return set(sys.modules)
        case "interrupt":
            os.kill(os.getpid(), signal.SIGINT)
            return "unimpressed"
    return task.upper()
