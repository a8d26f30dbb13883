"""``mpu serve``."""

from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mpu_cli.cli.messages import info, show_times, verbosity_options
from mpu_cli.cli.options import PATH, option, options_as_one, run_options
from mpu_cli.errors import MpuError
from mpu_cli.runtime.options import Integer
from mpu_cli.serve import Limits

if TYPE_CHECKING:
    from mpu_cli.runtime.run import Run


@click.command("serve")
@click.argument("model", metavar="MODEL", type=PATH)
@option("--host", str, "Address to listen on; 0.0.0.0 or :: for all.", default="127.0.0.1")
@option("--port", Integer(0, 65535), "Port; 0: any free port.", default=8000)
@option("--socket PATH", PATH, "Listen on this socket file instead.", name="path")
@option(
    "--allowed-host NAME",
    str,
    "Also accept requests to this host name, such as that of a proxy. Can be repeated.",
    multiple=True,
)
@option("--fill-implied", bool, "Also return broader labels that the predicted ones imply.")
@options_as_one(Limits)
@run_options("jobs", "kernel")
@verbosity_options
def command(
    model: Path,
    host: str,
    port: int,
    path: Path | None,
    allowed_host: tuple[str, ...],
    fill_implied: bool,
    options: Limits,
    run: "Run",
) -> None:
    """Serve the predictions of MODEL over HTTP. Needs the extra `serve`.

    MODEL is read again when it is replaced; a new model that cannot be read leaves the old one in use. There is no
    encryption and no password: run it behind a proxy.

    \b
    POST /predict   {"texts": ["..."]} or {"instances": [{"1": 0.5, "7": 1}]},
                    optional: "top": number of scores; "fill_implied": true or false
    GET  /health    status 503 if MODEL is missing or damaged, and the earlier one is still in use
    GET  /          lists these paths
    GET  /metrics   for Prometheus
    /v1/projects/NAME, /v1/projects/NAME/suggest
                    for Annif's http backend; NAME is MODEL without its suffix

    Texts need a MODEL of data made by `mpu vectorize`. SIGTERM completes the requests in progress, a second SIGTERM
    stops at once. Each request is logged on standard error, except with --quiet.

    \b
    Example:
      mpu serve news.mpu
        curl localhost:8000/predict -d '{"texts": ["Digital television starts today"]}'
      mpu serve news.mpu --socket /run/news/mpu.sock --log-format json
    """
    try:
        from mpu_cli.serve.application import Service
        from mpu_cli.serve.listening import at_port, at_socket, serve
        from mpu_cli.serve.model import Current
    except ModuleNotFoundError as error:
        package = str(error.name).partition(".")[0]
        raise MpuError(
            f"the package {package} is not installed: run pip install '.[serve]' in a copy of mpu's source"
        ) from None
    current = Current(model, run, fill_implied)
    with at_port(host, port) if path is None else at_socket(path) as listening:
        where, hosts = str(path), None
        if path is None:
            address, port, *_ = listening.getsockname()
            where = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
            if ip_address(address.partition("%")[0]).is_loopback:
                hosts = {"localhost", "127.0.0.1", "::1", *map(str.lower, (host, *allowed_host))}
        show_times()
        info(f"{model}: version {current.loaded.version} answers at {where}")
        serve(Service(current, options, hosts).application(), listening)
    info(f"{model}: ended")
