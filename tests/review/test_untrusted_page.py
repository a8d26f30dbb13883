"""Texts and names that try to be script do nothing, and the page reaches nobody."""

import json
import re

import pytest

from tests.cli.tables import data_of_page

EVIL = [
    "</script><script>window.pwned = 1</script>",
    "<img src=x onerror='window.pwned = 2'>",
    "<!--<script>",
    "\\u003c/script\\u003e{{data}}{{scripts}}",
    "<a href='javascript:window.pwned=3'>x</a>",
    "\u2028\u2029\u202e'\"`${window.pwned = 4}",
    "<svg/onload=window.pwned=5>",
    "]]></style><style>*{display:none}",
]


@pytest.fixture
def evil(tmp_path):
    """Data whose texts and names are all of EVIL, in a file that is called so."""
    data = tmp_path / "<img src=x onerror=window.pwned=6>.svm"
    data.write_text("".join(f"{k} {k}:1\n" for k in range(1, len(EVIL) + 1)))
    texts = tmp_path / "texts.jsonl"
    texts.write_text("".join(json.dumps({"text": text}) + "\n" for text in EVIL))
    names = tmp_path / "names"
    names.write_text("".join(text.replace("\u2028\u2029", "") + "\n" for text in EVIL))
    return data, texts, names


def test_shows_it_as_text_and_runs_nothing(open_page, evil):
    data, texts, names = evil
    page = open_page(data, "--text", texts, "--labels", names)
    for text in EVIL:
        assert page.run("return document.getElementById('text').textContent") == text
        name = page.run("return document.querySelector('#annotated .name').textContent")
        assert name == text.replace("\u2028\u2029", "").strip()
        page.press("/", "window", "\ue007", "\ue00c", "y", "\ue014")
    assert page.text("#file") == data.name
    assert page.run("return window.pwned") is None
    assert page.run("return document.querySelectorAll('img, svg, a, iframe, body style').length") == 0
    assert page.run("return document.scripts.length") == 4
    assert page.messages() == []
    assert page.requests() == []


@pytest.mark.slow
def test_features_and_imported_files_too(open_page, evil, tmp_path):
    data, _, names = evil
    page = open_page(data, "--features", names)
    (tmp_path / "<img src=x onerror=window.pwned=7>.tsv").write_text(
        "instance\tlabel\tverdict\n1\t<svg/onload=window.pwned=8>\tyes\n"
    )
    assert "<svg/onload=" in page.import_file(tmp_path / "<img src=x onerror=window.pwned=7>.tsv")
    assert EVIL[0] in page.text("#features")
    assert page.run("return window.pwned") is None


@pytest.mark.slow
def test_what_the_browser_kept_may_be_anything(page):
    page.run("Object.keys(localStorage).forEach((key) => localStorage.setItem(key, '<img src=x onerror=pwned=1>'))")
    page.run("localStorage.setItem(data.key + '/1', '{\"a\"')")
    page.run("localStorage.setItem(data.key + '/4', '7')")
    page.run("localStorage.setItem(data.key + '/at', '1e9')")
    page.open()
    assert page.text("#title") == "Instance 2"
    page.press("\ue012", "y", "\ue012", "y")
    assert page.rows("suggested")["music"] == "yes"
    assert page.messages() == []


@pytest.mark.slow
def test_where_one_was_may_be_anything(page):
    for at, title in (("1.5", 4), ("-7", 1), ("Infinity", 2), ("constructor", 1)):
        page.run(f"localStorage.setItem(data.key + '/at', '{at}')")
        page.open()
        assert page.text("#title") == f"Instance {title}"
    page.press("e")
    assert page.messages() == []


@pytest.mark.slow
def test_decisions_that_were_kept_are_such_as_mpu_takes(page):
    labels = "2", "2147483647", "9999999999", "007", ["4"], "*"
    kept = [*([label, True] for label in labels), ["4", 1]]
    page.run(f"localStorage.setItem(data.key + '/1', {json.dumps(json.dumps(kept))})")
    page.open()
    assert page.rows("suggested") == {"music": "yes", "Bücher": "undecided"}
    assert page.rows("added") == {}


def test_the_policy_stops_what_would_get_in(page):
    """Were there a way for markup, it would still not run, and could not fetch."""
    for attack in (
        "document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.pwned=1\">')",
        "document.body.append(Object.assign(document.createElement('script'), {text: 'window.pwned=1'}))",
        "document.body.setAttribute('onclick', 'window.pwned=1'); document.body.click()",
        "setTimeout('window.pwned=1', 0)",
    ):
        page.run(f"try {{ {attack} }} catch {{}}")
    fetched = "return fetch('https://example.org/').then(() => 'fetched', () => 'refused')"
    assert page.run(fetched) == "refused"
    assert page.run("return window.pwned") is None
    assert page.requests() == []


def test_the_page_is_one_file_whose_data_are_what_was_given(run, evil, tmp_path):
    data, texts, names = evil
    page = tmp_path / "page.html"
    run.ok("review", data, "--text", texts, "--labels", names, "-o", page)
    shown, html = data_of_page(page), page.read_text()
    assert [item["t"] for item in shown["items"]] == EVIL
    assert shown["names"] == [name.strip() for name in names.read_text().splitlines()]
    assert html.count("<script") == 4
    assert not re.search(r"""(src|href|url\()\s*=?\s*["']?(https?:)?//""", html)
