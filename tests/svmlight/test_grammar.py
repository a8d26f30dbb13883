import pytest

from mpu_cli.svmlight.grammar import LineError, header_of, is_comment, parse_line
from tests.golden import refused


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"3,1 7:0.5 2:-1e-3\n", ([3, 1], [7, 2], [0.5, -1e-3])),
        (b"3\t2:1\t\t4:.5\r\n", ([3], [2, 4], [1.0, 0.5])),
        (b" 2:1 \n", ([], [2], [1.0])),
        (b"\t2:1", ([], [2], [1.0])),
        (b"2:1 3:+4.", ([], [2, 3], [1.0, 4.0])),
        (b"5\n", ([5], [], [])),
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
    ("line", "expected"),
    [
        (b"1,2 3 4:0.5 6\n", ([1, 2], [3, 4, 6], [1.0, 0.5, 1.0])),
        (b" 3 4\n", ([], [3, 4], [1.0, 1.0])),
        (b"3\n", ([3], [], [])),
    ],
)
def test_implicit_values(line, expected):
    assert parse_line(line, implicit_values=True) == expected


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"sports 1:1", "label 'sports' is not a whole number from 0 up"),
        (b"-1 1:1", "label '-1' is not a whole number from 0 up"),
        (b"1.0 1:1", "label '1.0' is not"),
        (b"1,,2 1:1", "label missing before or after a comma in '1,,2'"),
        (b"1, 1:1", "label missing before or after a comma in '1,'"),
        (b",1 1:1", "label missing"),
        (b"1,2,1 1:1", "label 1 occurs twice"),
        (b"2147483647 1:1", "label '2147483647' is beyond 2147483646"),
        (b"9" * 5000 + b" 1:1", "is beyond 2147483646"),
        (b"1 2 3:1", r"'2' has no colon; write a line's labels with commas .* --implicit-values"),
        (b" 1,2 3:1", "'1,2' has no colon"),
        (b"1 -3:1", "feature index '-3' is not"),
        (b"1 x:1", "feature index 'x' is not"),
        (b"1 :1", "feature index '' is not"),
        (b"1 1,2:1", "feature index '1,2' is not"),
        (b"1 2147483647:1", "feature index '2147483647' is beyond 2147483646"),
        (b"1 3:1 4:1 3:2", "feature index 3 occurs twice"),
        (b"1 3: 4:1", "feature 3 has no value after its colon"),
        (b"1 3:", "feature 3 has no value"),
        (b"1 3:abc", "value 'abc' of feature 3 is not a finite number"),
        (b"1 3:nan", "value 'nan' of feature 3 is not"),
        (b"1 3:-inf", "value '-inf' of feature 3 is not"),
        (b"1 3:1_0", "value '1_0' of feature 3 is not"),
        (b"1 3:0x1p3", "is not a finite number"),
        (b"1 3:.", "is not a finite number"),
        (b"1 3:1e", "is not a finite number"),
        (b"1 3:1:2", "value '1:2' of feature 3 is not"),
        (b"1 3:1e300", "value '1e300' of feature 3 is too large"),
        (b"1 3:-3.4028236e38", "is too large"),
        (b"1 qid:3 1:1", "'qid:3' is for ranking data"),
        (b"1 1:1\x00", "byte 0x00 at column 6 is not text"),
        (b"1 1:1\r 2:1", "byte 0x0d at column 6"),
        (b"\xef\xbb\xbf1 1:1", "byte order mark"),
        (b"\x1f\x8b\x08\x00", "looks like compressed data"),
        (b"\x28\xb5\x2f\xfd\x04", "this is zstd data; decompress it first"),
        (b"PK\x03\x04", "this is zip data"),
        (b"1 1:\xc2\xbd", "byte 0xc2 at column 5"),
    ],
)
def test_errors(line, problem):
    with pytest.raises(LineError, match=problem):
        parse_line(line)


def test_a_long_token_is_cut_short():
    with pytest.raises(LineError) as caught:
        parse_line(b"x" * 100_000 + b" 1:1")
    assert len(str(caught.value)) < 200


def test_implicit_values_need_an_index():
    with refused(LineError):
        parse_line(b"1 x", implicit_values=True)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"10 5 3\n", (10, 5, 3)),
        (b"10\t5  3 \r\n", (10, 5, 3)),
        (b"10 5 3", (10, 5, 3)),
        (b"10 5\n", (10, None, 5)),
        (b"10 5 3 1\n", None),
        (b"10 5 3:1\n", None),
        (b" 10 5 3\n", None),
        (b"", None),
    ],
)
def test_header(line, expected):
    assert header_of(line) == expected
    assert header_of(line, implicit_values=True) == (None if expected and expected[1] is None else expected)


def test_comment_lines():
    assert is_comment(b"# 1 2:3\n")
    assert not is_comment(b" # 1 2:3\n")
    assert not is_comment(b"\n")


def test_a_long_number_is_refused_in_linear_time():
    """With the square of it, hours."""
    with refused(LineError):
        parse_line(b"1 1:" + b"1" * 1_000_000 + b"x")
