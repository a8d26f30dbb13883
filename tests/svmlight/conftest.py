import pytest

from mpu_cli.runtime import kernels


@pytest.fixture(scope="module", params=kernels.NAMES)
def kernel(request):
    """Run the tests of a module with each kernel."""
    if request.param == "numba":
        pytest.importorskip("numba")
    kernels.choose(request.param)
    yield request.param
    kernels.choose(None)
