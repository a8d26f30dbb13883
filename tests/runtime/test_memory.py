"""How much memory there is."""

import os

from mpu_cli.runtime.machine import available_memory


def test_available_memory_is_part_of_the_machine_s():
    assert 0 < available_memory() <= os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
