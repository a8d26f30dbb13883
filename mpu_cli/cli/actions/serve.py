"""Serve predictions over HTTP: ``mpu serve``."""

from ipaddress import ip_address
from pathlib import Path

from mpu_cli.cli.messages import info, show_times
from mpu_cli.errors import MpuError
from mpu_cli.runtime.run import Run


def command(
    model: Path, host: str, port: int, allowed_host: tuple[str, ...], fill_implied: bool, max_bytes: int, run: Run
) -> None:
    """Carry out the command with the arguments parsed by `mpu_cli.cli.commands`."""
    try:
        from mpu_cli.serve import Current, Service, at_port, serve
    except ModuleNotFoundError as error:
        package = str(error.name).partition(".")[0]
        raise MpuError(
            f"the package {package} is not installed: run pip install '.[serve]' in a copy of mpu's source"
        ) from None
    current = Current(model, run, fill_implied)
    with at_port(host, port) as listening:
        address, port, *_ = listening.getsockname()
        where = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
        is_local = ip_address(address.partition("%")[0]).is_loopback
        hosts = {"localhost", "127.0.0.1", "::1", *map(str.lower, (host, *allowed_host))} if is_local else None
        show_times()
        info(f"{model}: version {current.loaded.version} answers at {where}")
        serve(Service(current, max_bytes, hosts).application(), listening)
    info(f"{model}: ended")
