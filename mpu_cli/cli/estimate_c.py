"""``mpu estimate-c``."""

import click


@click.command("estimate-c")
def estimate_c() -> None:
    """Not written yet."""
