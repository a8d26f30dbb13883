from mpu_cli.bundle import provenance
from mpu_cli.runtime.files import state_of


def test_a_file_that_has_changed_since_has_none(tmp_path):
    path = tmp_path / "x.svm"
    path.write_bytes(b"1 1:1\n")
    states = [state_of(path)]
    unknown = {"source": str(path), "source_bytes": None, "source_sha256": None, "files": [], "others": []}
    path.write_bytes(b"2 1:1\n2 1:1\n")
    assert provenance.described(path, states, {}) == unknown
    path.unlink()
    assert provenance.described(path, states, {}) == unknown
