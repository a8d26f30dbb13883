"""Made-up files: mostly well-formed lines, and what is nearly one."""

from hypothesis import strategies as st

numbers = st.one_of(
    st.integers(0, 99).map(str),
    st.floats(-1e3, 1e3).map(repr),
    st.floats(-10, 10, width=32).map(repr),
    st.floats(0, 1).map("{:.3e}".format),
    st.from_regex(r"[+-]?[0-9]{0,12}\.?[0-9]{0,12}([eE][+-]?[0-9]{1,2})?", fullmatch=True),
    st.from_regex(r"-?[1-9][0-9]{0,21}e-?[0-9]{1,6}", fullmatch=True),
)
_values = st.one_of(numbers.map(":{}".format), st.sampled_from(["", ":", ":nan", ":1.2.3", ":--1"]))
ids = st.one_of(st.integers(0, 9), st.integers(0, 2**31), st.integers(10**18, 10**30))
separators = st.sampled_from([" "] * 8 + ["  ", "\t", " \t "])
line_ends = st.sampled_from(["\n"] * 8 + ["\r\n", " \n", "# a,b 1:2\n", "\n\n", "\n# comment line\n"])


# Strategies are made once: to make them takes longer than to draw from them.
_label_lists, _index_lists = st.lists(ids, max_size=3), st.lists(ids, max_size=4)
_bit, _few_new = st.integers(0, 1), st.integers(0, 2)
_new_bytes = st.sampled_from([b"", b"0", b"7", b":", b",", b".", b"-", b"e", b" ", b"\n", b"\r", b"#", b"\0"])


@st.composite
def lines(draw) -> str:
    labels = ",".join(str(label) for label in draw(_label_lists))
    features = [f"{draw(separators)}{index}{draw(_values)}" for index in draw(_index_lists)]
    return labels + "".join(features) + draw(line_ends)


_several_lines = st.lists(lines(), max_size=4)


@st.composite
def blocks(draw) -> bytes:
    """Mostly well-formed lines, with a few bytes changed, inserted or removed."""
    block = bytearray("".join(draw(_several_lines)), "ascii")
    for _ in range(draw(_few_new)):
        place = draw(st.integers(0, len(block)))
        block[place : place + draw(_bit)] = draw(_new_bytes)
    return bytes(block)
