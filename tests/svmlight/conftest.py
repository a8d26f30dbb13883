import pytest

from tests import kernels


@pytest.fixture(scope="module", params=kernels.AVAILABLE)
def kernel(request):
    """Run the tests of a module with each kernel."""
    with kernels.default(request.param):
        yield request.param
