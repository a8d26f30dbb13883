import hashlib

from mpu_cli.bundle.provenance import Source


def test_a_file_has_size_and_checksum(tmp_path):
    path = tmp_path / "x.svm"
    path.write_bytes(b"1 1:1\n")
    (tmp_path / "link.svm").symlink_to(path)
    expected = (6, hashlib.sha256(b"1 1:1\n").hexdigest())
    assert Source.of(path).content() == Source.of(tmp_path / "link.svm").content() == expected


def test_a_file_that_has_changed_since_has_none(tmp_path):
    path = tmp_path / "x.svm"
    path.write_bytes(b"1 1:1\n")
    source = Source.of(path)
    path.write_bytes(b"2 1:1\n2 1:1\n")
    assert source.content() == (None, None)
    path.unlink()
    assert source.content() == (None, None)


def test_what_is_no_file_has_none(tmp_path):
    for path in ("-", tmp_path, tmp_path / "nowhere", "/dev/null", "a\0b"):
        assert Source.of(path).content() == (None, None)
