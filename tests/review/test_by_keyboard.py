"""A whole review in a browser, by keyboard: decided, kept, exported, read back and imported."""

import numpy as np

from mpu_cli.review.decisions import NOTHING_ELSE, read
from mpu_cli.review.matching import match
from mpu_cli.svmlight import reader

ARROWS = {"right": "\ue014", "left": "\ue012", "down": "\ue015", "up": "\ue013"}
ENTER = "\ue007"


def cells(path) -> list[tuple]:
    decisions = read([path])
    columns = decisions.instance + 1, decisions.label, decisions.verdict, decisions.is_sample
    return list(zip(*(column.tolist() for column in columns), strict=True))


def test_a_whole_review_by_keyboard(page, news):
    assert page.driver.title == "Review of news.svm"
    assert page.text("#title") == "Instance 1"
    assert page.text("#text") == "Of football."
    assert page.rows("suggested") == {"music": "undecided", "Bücher": "undecided"}
    assert "81 %" in page.text("#suggested")
    assert page.rows("annotated") == {"sports": "annotated", "the arts": "annotated"}
    assert (page.text("#count"), page.text("#of")) == ("0 of 3 reviewed", "of 3")

    page.press("y", "n")  # music; Bücher is marked next
    assert page.text("#count") == "1 of 3 reviewed"
    page.press(ARROWS["right"])
    assert page.text("#title") == "Instance 4"
    page.press("/", "MUS", ENTER)
    assert page.rows("added") == {"music": "yes"}

    page.open()  # in the middle
    assert page.text("#title") == "Instance 4"
    assert page.rows("added") == {"music": "yes"}
    assert page.text("#export") == "Export (3 new)"

    page.press("e")
    assert page.text("#title") == "Instance 2"
    page.press("e")
    assert "export" in page.run("return document.getElementById('said').textContent")
    assert page.text("#count") == "3 of 3 reviewed"

    path = page.export()
    assert page.text("#export") == "Export"
    assert cells(path) == [
        (1, 2, True, False),
        (1, 4, False, False),
        (2, NOTHING_ELSE, False, False),
        (4, NOTHING_ELSE, False, False),
        (4, 2, True, False),
    ]
    assert [line.split("\t") for line in path.read_text().splitlines()][2:] == [
        ["# suggestions 4"],
        ["instance", "label", "number", "probability", "verdict", "source"],
        ["1", "music", "2", "0.8125", "yes", "suggestion"],
        ["1", "Bücher", "4", "0.25", "no", "suggestion"],
        ["4", "sports", "1", "0.5", "", "suggestion"],
        ["4", "music", "2", "", "yes", "added"],
        ["4", "*", "*", "", "no", "suggestion"],
        ["2", "the arts", "3", "0.125", "", "suggestion"],
        ["2", "*", "*", "", "no", "suggestion"],
    ]
    decisions = read([path])
    assert decisions.origin.tolist() == [1, 1, 0, 0, -1]  # instance 4 has music by search
    np.testing.assert_array_equal(decisions.probability, [0.8125, 0.25, *[np.nan] * 3])
    reviewed = match(decisions, reader.read(news), news)
    assert reviewed.verified.verdicts().tolist() == [[0, 1, 0], [2, 2, 2], [0, 0, 0], [2, 1, 2]]
    assert page.messages() == []
    assert page.requests() == []
