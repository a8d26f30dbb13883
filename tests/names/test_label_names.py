"""A label by name: every label has a text of its own, which reads back as this label."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mpu_cli.errors import InputError
from mpu_cli.names.label_names import LabelNames, parse_names
from mpu_cli.names.lines import cell, composed
from tests.golden import refused
from tests.names.corpus import check_texts

odd = st.text("ab (123)*'\"=+-@\u00e4\u0308\r\u2028#,", max_size=6).map(str.strip)
confusing = st.dictionaries(
    st.integers(1, 4), st.tuples(st.from_regex(r"\A'?(=x|a|[1-4])( \([1-4]\))?( \([1-4]\))?\Z")), min_size=3
)
names = st.dictionaries(st.integers(0, 30) | st.just(2**31 - 2), st.lists(odd.filter(bool), max_size=3).map(tuple))


@example({1: ("a",), 2: ("a",), 3: ("a (1)",), 4: ("1",)})
@example({0: ("-",), 2: ("'-",)})
@example({0: ("a",), 2: ('"a"',)})
@example({2: ("=x",), 3: ("=x",), 7: ("'=x (2)",)})
@given(names | confusing)
def test_every_label_has_texts_of_its_own(found):
    """As `written`, which reads back, also from a cell; as `shown`; and as `in_cell`."""
    check_texts(LabelNames.of(found), found)


@given(names | confusing)
def test_a_name_is_shown_where_nothing_else_is_called_so(found):
    labels = LabelNames.of(found)
    for number, those in found.items():
        others = {composed(name) for other in found if other != number for name in found[other][:1] or (str(other),)}
        digits = any(name.isdigit() for name in those[:1])  # the number of another label may be all that it has
        assert not those or digits or composed(those[0]) in others or labels.shown(number) == those[0]


@pytest.mark.parametrize("digits", ["7", "0007", "0" * 5000 + "7"])
def test_a_number_may_have_any_zeros_before_it(digits):
    assert (LabelNames.of({1: ["news"]}).number(digits), LabelNames().number(digits)) == (7, 7)
    with refused(ValueError):
        LabelNames.of({1: ["7"]}).number(digits)


def test_what_is_long_is_not_compared_with_all_names():
    """Comparing takes the square of the length."""
    labels = LabelNames.of({k: ["ab" * 50_000 + str(k)] for k in range(5)})
    with refused(ValueError):
        labels.number("ba" * 50_000)


@given(names)
def test_names_are_kept(found):
    labels = LabelNames.of(found)
    assert labels.by_number == {number: tuple(dict.fromkeys(those)) for number, those in found.items()}
    assert LabelNames.of(labels.by_number) == labels


@given(names)
def test_cells_are_no_formulas_and_stay_one_cell(found):
    labels = LabelNames.of(found)
    for number in found:
        text = cell(labels.written(number))
        assert text[0] not in "=+-@" and "\t" not in text and len(text.splitlines()) == 1
        assert not text.startswith('"') or text[-1] == '"'


def test_how_labels_are_written():
    labels = LabelNames.of({1: ["news"], 2: ["Access"], 3: ["Access"], 4: [], 5: ["2005"], 6: ["*"], 7: ["a\rb"]})
    texts = ["news", "Access (2)", "Access (3)", "4", "2005 (5)", "* (6)", "7", "8"]
    assert [labels.written(number) for number in range(1, 9)] == texts


def test_texts_that_mean_a_label():
    labels = LabelNames.of({1: ["news", "the news", "sport"], 2: ["sport"]})
    texts = {"news": 1, "the news": 1, "1": 1, "01": 1, "news (1)": 1, '"news"': 1, "sport": 2, "77": 77}
    assert {text: labels.number(text) for text in texts} == texts


def test_an_accent_may_be_a_character_of_its_own():
    composed, apart = "Caf\u00e9", "Cafe\u0301"
    assert LabelNames.of({1: [apart]}).number(composed) == LabelNames.of({1: [composed]}).number(apart) == 1
    both = LabelNames.of({1: [composed], 2: ["x", apart], 3: [apart]})
    assert [both.written(number) for number in (1, 2, 3)] == [f"{composed} (1)", "x", f"{apart} (3)"]
    assert (both.shown(3), both.number(f"{composed} (3)")) == (both.written(3), 3)


lines = st.lists(st.lists(odd, min_size=1, max_size=3).map("\t".join), min_size=1, max_size=9)


@given(lines, st.sampled_from([0, 1]))
def test_any_lines_are_names_or_an_error(lines, first):
    try:
        found, is_numbered = parse_names(lines, "tags", first)
    except InputError:
        return
    for number, those in found.items():
        assert all(name and name == name.strip() and "\t" not in name for name in those)
        if not is_numbered:
            assert those[:1] == tuple(filter(None, [lines[number - first].split("\t")[0].strip()]))
