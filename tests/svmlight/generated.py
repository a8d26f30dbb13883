"""Made-up files: mostly well-formed lines, and what is nearly one."""

from hypothesis import strategies as st

from mpu_cli.svmlight.grammar import MAX_ID

numbers = st.one_of(
    st.integers(0, 99).map(str),
    st.floats(-1e3, 1e3).map(repr),
    st.floats(-10, 10, width=32).map(repr),
    st.floats(0, 1).map("{:.3e}".format),
    st.from_regex(r"[+-]?[0-9]{0,12}\.?[0-9]{0,12}([eE][+-]?[0-9]{1,2})?", fullmatch=True),
    st.from_regex(r"-?[1-9][0-9]{0,21}e-?[0-9]{1,6}", fullmatch=True),
)
ids = st.one_of(st.integers(0, 9), st.integers(0, 2**31), st.integers(10**18, 10**30))
separators = st.sampled_from([" "] * 8 + ["  ", "\t", " \t "])
line_ends = st.sampled_from(["\n"] * 8 + ["\r\n", " \n", "# a,b 1:2\n", "\n\n", "\n# comment line\n"])


@st.composite
def lines(draw) -> str:
    labels = ",".join(str(label) for label in draw(st.lists(ids, max_size=3)))
    features = []
    for index in draw(st.lists(ids, max_size=4)):
        value = draw(st.one_of(numbers.map(":{}".format), st.sampled_from(["", ":", ":nan", ":1.2.3", ":--1"])))
        features.append(f"{draw(separators)}{index}{value}")
    return labels + "".join(features) + draw(line_ends)


@st.composite
def blocks(draw) -> bytes:
    """Mostly well-formed lines, with a few bytes changed, inserted or removed."""
    block = bytearray("".join(draw(st.lists(lines(), max_size=4))), "ascii")
    for _ in range(draw(st.integers(0, 2))):
        place = draw(st.integers(0, len(block)))
        new = draw(st.sampled_from([b"", b"0", b"7", b":", b",", b".", b"-", b"e", b" ", b"\n", b"\r", b"#", b"\0"]))
        block[place : place + draw(st.integers(0, 1))] = new
    return bytes(block)


def _is_float32(text: str) -> bool:
    try:
        return abs(float(text)) < 3e38
    except ValueError:
        return False


@st.composite
def well_formed_lines(draw) -> str:
    small = st.one_of(st.integers(0, 9), st.integers(0, MAX_ID - 1))
    labels = ",".join(str(label) for label in draw(st.lists(small, max_size=3, unique=True)))
    indices = sorted(draw(st.lists(small, max_size=4, unique=True)))
    features = [f"{draw(separators)}{index}:{draw(numbers.filter(_is_float32))}" for index in indices]
    return labels + "".join(features) + draw(line_ends)


def well_formed_blocks() -> st.SearchStrategy[bytes]:
    """Lines as other tools read and write them too: features in ascending order."""
    return st.lists(well_formed_lines(), max_size=6).map(lambda found: "".join(found).encode())
