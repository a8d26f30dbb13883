"""Which cluster is meant."""

from pathlib import Path

import pytest

from mpu_cli.cluster import Address


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("local", Address()),
        ("local:3", Address(workers=3)),
        ("local:3:2", Address(workers=3, threads=2)),
        ("tcp://scheduler:8786", Address(scheduler="tcp://scheduler:8786")),
        ("tls://10.0.0.1:8786", Address(scheduler="tls://10.0.0.1:8786")),
        ("run/scheduler.json", Address(file=Path("run/scheduler.json"))),
    ],
)
def test_a_cluster_is_named_in_four_ways(text, meant):
    assert Address.parse(text) == meant
    assert meant.is_local == text.startswith("local")
