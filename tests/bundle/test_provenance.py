from mpu_cli.bundle.provenance import SourceFile


def test_a_file_that_has_changed_since_has_none(tmp_path):
    path = tmp_path / "x.svm"
    path.write_bytes(b"1 1:1\n")
    source = SourceFile.of(path)
    path.write_bytes(b"2 1:1\n2 1:1\n")
    assert source.content() == (None, None)
    path.unlink()
    assert source.content() == (None, None)
