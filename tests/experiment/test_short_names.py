import pytest

from mpu_cli.experiment.summary import short_names


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["mpu", "br"], ["mpu", "br"]),
        (["mpu:c=0.7:cost=100", "br:cost=100"], ["mpu", "br"]),
        (["mpu", "mpu:levels=1"], ["mpu", "mpu, levels=1"]),
        (["mpu:c=0.7", "mpu:levels=1:c=0.7"], ["mpu", "mpu, levels=1"]),
        (["mpu:levels=1:c=1", "mpu:levels=2:c=1"], ["mpu, levels=1", "mpu, levels=2"]),
        (["a.b:C:n=1", "a.b:D:n=1"], ["a.b:C", "a.b:D"]),
    ],
)
def test_names_have_what_tells_methods_apart(labels, expected):
    assert list(short_names(labels).items()) == list(zip(labels, expected, strict=True))
