"""What messages show, and what they leave out."""

import sys

import pytest

from mpu_cli.errors import InputError, for_terminal, one_line, shown, without_secrets

SECRET = "hunter2"
# In a password, or in a query.
ODD = ["'", '"', "''", "?", "#", "@", ":", "&", ",", ")", "it's", "%27", ";", "*", "\\", "[", "é", "=", "...", "://"]


@pytest.mark.parametrize("odd", [*ODD, "/", " ", "\n", "a/b/c"])
def test_no_password_is_shown_whatever_is_in_it(odd):
    for password in (f"{odd}{SECRET}", f"{SECRET}{odd}", f"{SECRET[:3]}{odd}{SECRET[3:]}", f"{odd}{SECRET}{odd}"):
        url = f"https://me:{password}@example.org/news.svm"
        for text in (shown(url), str(InputError(url, "what", 3))):
            assert not any(part in text for part in (SECRET, SECRET[:3], SECRET[3:])), text
            assert "me" not in text.split("://")[1].split("/")[0]
        assert shown(url).endswith("example.org/news.svm") or "?" in odd


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("quote", ["", "'", '"'])
def test_no_password_is_shown_in_the_middle_of_a_text(odd, quote):
    for url in (f"https://me:{odd}{SECRET}@example.org/x", f"https://example.org/x?key={odd}{SECRET}"):
        text = without_secrets(f"value {quote}{url}{quote}: is no number, {url!r}")
        assert SECRET not in text
        assert text.startswith(f"value {quote}https")


@pytest.mark.parametrize(
    ("text", "public"),
    [
        ("'https://a.org/x?key=s': what", "'https://a.org/x?...': what"),
        ("https://a.org/x?...:6: value '3'", "https://a.org/x?...:6: value '3'"),
        ("https://a.org:8080/@you/x", "https://a.org:8080/@you/x"),
        ("http://[::1]:80/x@y", "http://[::1]:80/x@y"),
        ("memory://x.svm:1234567: a@b", "memory://x.svm:1234567: a@b"),
        ("tcp://scheduler:8786, or mail me@a.org", "tcp://scheduler:8786, or mail me@a.org"),
        ("a ? b: c@d", "a ? b: c@d"),
        ("s3://k:s@b/x,s3://k:s@b/y", "s3://b/x,s3://b/y"),
        ("https://a.org/x?to=https://b.org/y?key=s&key=t", "https://a.org/x?..."),
        ("https://a.org/https://b.org?mail=me@x.org&key=s", "https://a.org/https://b.org?..."),
    ],
)
def test_what_is_no_secret_is_shown(text, public):
    assert without_secrets(text) == public


@pytest.mark.parametrize(
    "piece", ["a", "a.", "a:", "://", "a://b:c'", "a://?", "'", "?'", "x://b:c'@", "a://b?c'", "@"]
)
def test_long_texts_take_linear_time(piece):
    """A million characters: with the square of it, hours."""
    text = piece * (1_000_000 // len(piece))
    for long in (text, f"{text}@", f"{text} {text}"):
        assert len(one_line(without_secrets(f"field {long} is none\0"))) < 60_000


def test_of_a_long_text_the_middle_is_left_out_with_all_of_the_words_that_are_cut():
    url = f"https://me:{SECRET * 2000}@example.org/x"
    assert without_secrets(f"x.jsonl:3: there is no {url!r} in 'ab'") == "x.jsonl:3: there is no [...] in 'ab'"


def test_characters_that_end_lines_are_escaped():
    controls = [chr(i) for i in range(sys.maxunicode) if len(f"a{chr(i)}b".splitlines()) > 1]
    assert one_line("".join(controls)).isascii()


@pytest.mark.parametrize("turn", [chr(k) for k in (0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))])
def test_what_turns_the_direction_of_writing_is_escaped_for_people(turn):
    """It makes a name that ends in gpj.exe look like one that ends in exe.jpg; in files it stays, as part of a name."""
    assert for_terminal(f"a{turn}gpj.exe\n") == rf"a\u{ord(turn):04x}gpj.exe\n"
    assert one_line(f"a{turn}b") == f"a{turn}b"
