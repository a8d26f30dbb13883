"""What axe finds: the review page as it is used, and the page of `mpu report`."""

from importlib.resources import files

import pytest

from tests.slow import slow

pytest.importorskip("axe_core_python")


def violations(driver) -> list[str]:
    """What is wrong in an open dialog, behind which nothing can be used, or on the page."""
    driver.execute_script(files("axe_core_python").joinpath("axe.min.js").read_text(encoding="utf-8"))
    what = "document.querySelector('dialog[open]') ?? document"
    faded = "Promise.allSettled(document.getAnimations().map((one) => one.finished))"  # colours fade
    run = f"{faded}.then(() => axe.run({what})).then(arguments[0])"
    found = driver.execute_async_script(f"requestAnimationFrame(() => requestAnimationFrame(() => {run}))")
    assert found["passes"]
    return [f"{one['id']}: {node['html']}" for one in found["violations"] for node in one["nodes"]]


DECIDED = "y", "n"
OTHERS = ((), "light"), (("/", "mus"), "light"), (("?",), "light"), (("\ue014",), "light"), (DECIDED, "dark")


@pytest.mark.parametrize(("keys", "scheme"), [(DECIDED, "light"), *slow(*OTHERS)])
def test_the_review_page(page, screen, keys, scheme):
    screen.scheme(scheme)
    page.press(*keys)
    assert violations(page.driver) == []


@pytest.mark.slow
def test_the_review_page_on_a_narrow_screen(page, screen):
    screen.size(360, 740, scale=2, mobile=True)
    assert violations(page.driver) == []


@pytest.mark.slow
def test_who_decides_is_asked(page):
    page.press("y")
    page.click("#export")
    assert page.run("return document.getElementById('who').open")
    assert violations(page.driver) == []


@pytest.mark.slow
def test_the_report(run, chromium, tmp_path):
    driver, _ = chromium
    (tmp_path / "a.svm").write_text("1 1:1\n2 2:1\n 1:1\n" * 30)
    (tmp_path / "groups").write_text("one\nother\n" * 45)
    target = tmp_path / "r.html"
    run.ok("report", tmp_path / "a.svm", "--groups", tmp_path / "groups", "-o", target, "-q")
    driver.get(target.as_uri())
    assert violations(driver) == []


@pytest.mark.slow
def test_the_suggestions_of_a_report_fit_a_narrow_screen(run, chromium, screen, tmp_path):
    driver, _ = chromium
    true = [[k for k in (1, 2, 3) if i >> k & 1] for i in range(120)]
    annotated = [",".join(str(k) for k in labels if (7 * i + k) % 5 < 3) for i, labels in enumerate(true)]
    features = ["".join(f" {k}:1" for k in [*labels, 4]) for labels in true]
    (tmp_path / "a.svm").write_text("".join(f"{s}{x}\n" for s, x in zip(annotated, features, strict=True)))
    (tmp_path / "names").write_text("".join(f"https://example.org/vocabulary/4326464-{k}\n" for k in (1, 2, 3)))
    target = tmp_path / "r.html"
    run.ok("report", tmp_path / "a.svm", "--labels", tmp_path / "names", "-o", target, "-q")
    screen.size(320, mobile=True)
    driver.get(target.as_uri())
    table = "[...document.querySelectorAll('.wide')].at(-1)"
    assert "probability" in driver.execute_script(f"return {table}.innerText")
    assert driver.execute_script(f"return {table}.scrollWidth <= {table}.clientWidth")
