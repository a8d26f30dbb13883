"""A file that several write at once is that of one of them, whole, and nothing is left beside it."""

from concurrent.futures import ThreadPoolExecutor

from mpu_cli.runtime.files import replacing


def test_writers_of_the_same_file_do_not_disturb_each_other(tmp_path):
    path = tmp_path / "out"

    def write(number: int) -> None:
        for _ in range(100):
            with replacing(path) as file:
                file.write(b"%d\n" % number * 1000)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8)))
    assert len(set(path.read_bytes().splitlines())) == 1
    assert path.stat().st_size == 2000
    assert list(tmp_path.iterdir()) == [path]
