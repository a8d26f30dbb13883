"""The page at two widths, in light and in dark, and for those who do not see it."""

import re
from itertools import product

import pytest

from tests.conftest import ROOT

ASSETS = ROOT / "mpu_cli" / "review" / "assets"
WITH_A_NAME = {"button", "textbox", "combobox", "spinbutton", "checkbox", "progressbar", "option", "group", "dialog"}
# What is written on what: all that carries meaning has a contrast of 4.5, as WCAG 2.2 AA asks of text.
PAIRS = [
    *product(("ink", "soft", "accent", "yes", "no"), ("page", "surface")),
    *product(("ink", "soft"), ("marked",)),
    ("accent-ink", "accent"),
    ("warn-ink", "warn"),
    ("yes", "yes-soft"),
    ("no", "no-soft"),
]


def colours() -> dict[str, dict[str, str]]:
    light, dark = re.findall(r":root \{(.*?)\}", (ASSETS / "page.css").read_text(), re.DOTALL)[:2]
    return {
        name: dict(re.findall(r"--([\w-]+): (#\w{6})", block)) for name, block in (("light", light), ("dark", dark))
    }


def luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(scheme):
    palette = colours()[scheme]
    for front, back in PAIRS:
        brighter, darker = sorted((luminance(palette[front]), luminance(palette[back])), reverse=True)
        assert (brighter + 0.05) / (darker + 0.05) >= 4.5, (front, back)
    brighter, darker = sorted((luminance(palette["edge"]), luminance(palette["surface"])), reverse=True)
    assert (brighter + 0.05) / (darker + 0.05) >= 3  # edges of controls


def test_both_schemes_have_all_colours():
    light, dark = colours().values()
    assert set(light) == set(dark)


@pytest.fixture
def sized(page):
    def size(width: int) -> None:
        metrics = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False}
        page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    yield size
    page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.parametrize("width, beside", [(320, False), (600, False), (1280, True)])
def test_fits(page, sized, width, beside):
    sized(width)
    page.press("/", "s")
    assert page.run("return document.documentElement.scrollWidth") <= width
    places = "return ['article', '.decisions'].map((name) => document.querySelector(name).getBoundingClientRect().top)"
    text, decisions = page.run(places)
    assert (abs(text - decisions) < 10) == beside
    for control in page.find_all("button, input:not([hidden])"):
        if control.is_displayed():
            assert control.rect["height"] >= 24 or control.get_attribute("type") == "checkbox"  # WCAG 2.5.8


def test_a_name_has_the_width_of_a_narrow_screen(page, sized):
    sized(320)
    name, button = page.run(
        "return ['.name', 'button'].map((one) => document.querySelector(`.row ${one}`).getBoundingClientRect())"
    )
    assert name["width"] > 250
    assert name["bottom"] <= button["top"]


def test_what_is_marked_is_not_under_the_footer(page, sized):
    sized(320)
    for _ in range(4):
        page.press("\ue015")
        row, footer = page.run(
            "return ['.row.marked', 'footer'].map((name) => document.querySelector(name).getBoundingClientRect())"
        )
        assert row["bottom"] <= footer["top"]


def test_dark(page):
    background = "return getComputedStyle(document.body).backgroundColor"
    light = page.run(background)
    dark = {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", dark)
    try:
        assert page.run(background) != light
    finally:
        page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_every_control_has_a_name_for_screen_readers(page):
    page.press("/", "s")
    nodes = page.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    named = [
        (node["role"]["value"], node.get("name", {}).get("value", ""))
        for node in nodes
        if not node["ignored"] and node["role"]["value"] in WITH_A_NAME
    ]
    assert len(named) > 15
    assert [role for role, name in named if not name] == []
    roles = {node["role"]["value"] for node in nodes if not node["ignored"]}
    assert {"banner", "main", "contentinfo", "navigation", "heading", "list", "listitem", "status", "listbox"} <= roles
