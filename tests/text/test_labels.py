"""Labels by name."""

from mpu_cli.errors import InputError
from mpu_cli.text.labels import read_labels
from tests.golden import refused


def test_a_file_of_names(tmp_path):
    path = tmp_path / "names"
    path.write_bytes("\ufeffOne\tEins\t Uno \r\n\n Three \nOne\nEins\n".encode())
    labels = read_labels(path)
    assert labels.names == [("One", "Eins", "Uno"), (), ("Three",), (), ("Eins",)]
    assert labels.shared == 1
    assert [labels.number(name) for name in ("One", "Uno", "Three", "Eins", "one", "")] == [1, 1, 3, 5, None, None]
    assert labels.add("Six") == 6 == labels.number("Six")
    (tmp_path / "again").write_text(labels.lines(), encoding="utf-8")
    assert read_labels(tmp_path / "again").names == labels.names


def test_names_with_numbers(tmp_path):
    path = tmp_path / "names"
    path.write_text("3\tThree\n1\tOne\tEins\n")
    assert read_labels(path).names == [("One", "Eins"), (), ("Three",)]
    for text in ("0\tNought\n", "2000000000\tMuch\n"):
        path.write_text(text)
        with refused(InputError):
            read_labels(path)
