"""The page at several widths, in light and in dark."""

import pytest

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("width, beside", [(320, False), (600, False), (1280, True)])
def test_fits(page, screen, width, beside):
    screen.size(width)
    page.press("/", "s")
    assert page.run("return document.documentElement.scrollWidth") <= width
    places = "return ['article', '.decisions'].map((name) => document.querySelector(name).getBoundingClientRect().top)"
    text, decisions = page.run(places)
    assert (abs(text - decisions) < 10) == beside
    for control in page.find_all("button, input:not([hidden])"):
        if control.is_displayed():
            assert control.rect["height"] >= 24 or control.get_attribute("type") == "checkbox"  # WCAG 2.5.8


def test_a_name_has_the_width_of_a_narrow_screen(page, screen):
    screen.size(320)
    name, button = page.run(
        "return ['.name', 'button'].map((one) => document.querySelector(`.row ${one}`).getBoundingClientRect())"
    )
    assert name["width"] > 250
    assert name["bottom"] <= button["top"]


def test_what_is_marked_is_not_under_the_footer(page, screen):
    screen.size(320)
    for _ in range(4):
        page.press("\ue015")
        row, footer = page.run(
            "return ['.row.marked', 'footer'].map((name) => document.querySelector(name).getBoundingClientRect())"
        )
        assert row["bottom"] <= footer["top"]


def test_dark(page, screen):
    background = "return getComputedStyle(document.body).backgroundColor"
    light = page.run(background)
    screen.scheme("dark")
    assert page.run(background) != light
