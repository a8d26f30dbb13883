import pytest

from mpu_cli.svmlight.grammar import Reading, header_of, parse_line, plain_labels


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"3,1 7:0.5 2:-1e-3\n", ([3, 1], [7, 2], [0.5, -1e-3])),
        (b"3\t2:1\t\t4:.5\r\n", ([3], [2, 4], [1.0, 0.5])),
        (b" 2:1 \n", ([], [2], [1.0])),
        (b"2:1 3:+4.", ([], [2, 3], [1.0, 4.0])),
        (b"1, 2.0\t,+3 4:1\r\n", ([1, 2, 3], [4], [1.0])),
        (b"3,7,3 5:1 4:2 5:1.0", ([3, 7], [5, 4], [1.0, 2.0])),
        (b"\r\n", ([], [], [])),
        (b"", ([], [], [])),
        (b" # nothing but \xc3\xa9 and 1:nan", ([], [], [])),
        (b"5#1:2", ([5], [], [])),
        (b"0007 0:0", ([7], [0], [0.0])),
        (b"2147483646 2147483646:1", ([2147483646], [2147483646], [1.0])),
        (b"1 1:1e-400", ([1], [1], [0.0])),
        (b"1 1:3.4028235e38", ([1], [1], [3.4028235e38])),
    ],
)
def test_lines(line, expected):
    assert parse_line(line) == expected


@pytest.mark.parametrize(
    ("written", "plain"), [("1 ,2", "1,2"), ("1,+2", "1,2"), ("1,2.0", "1,2"), ("1,2 , 3", "1,2,3"), ("1,\t2", "1,2")]
)
def test_labels_are_written_plainly_on_any_line(written, plain):
    assert plain_labels(f"7,8 1:1\n{written} 1:1\n".encode()) == f"7,8 1:1\n{plain} 1:1\n".encode()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"1,2 3 4:0.5 6\n", ([1, 2], [3, 4, 6], [1.0, 0.5, 1.0])),
        (b" 3 4\n", ([], [3, 4], [1.0, 1.0])),
        (b"3\n", ([3], [], [])),
    ],
)
def test_implicit_values(line, expected):
    assert parse_line(line, Reading(implicit_values=True)) == expected


@pytest.mark.parametrize("line", [b"?", b"-1\r\n", b"? \n", b"-1 # x", b"a,b 1:1", b"? 1:1"])
def test_labels_that_are_not_wanted(line):
    assert parse_line(line, Reading(labels=False)) == ([], *parse_line(b" 1:1" * (b":" in line))[1:])


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"10 5 3\n", (10, 5, 3)),
        (b"10\t5  3 \r\n", (10, 5, 3)),
        (b"10 5\n", (10, None, 5)),
        (b"10 5 3 1\n", None),
        (b"10 5 3:1\n", None),
        (b" 10 5 3\n", None),
    ],
)
def test_header(line, expected):
    assert header_of(line) == expected


@pytest.mark.parametrize("line", [b"1 1:%sx", b"a%s", b"%s;", b"[%s", b"{%s", b"a %s x"])
@pytest.mark.parametrize("many", [b"1", b"a", b",1", b";1", b" "])
def test_what_is_long_is_refused_in_linear_time(line, many):
    """With the square of it, hours."""
    with pytest.raises(ValueError):
        parse_line(line % (many * 500_000))
