"""Everything else of the review page, in a browser."""

import csv
from itertools import product

import pytest

from mpu_cli.core.problem import HowDecided
from mpu_cli.errors import InputError
from mpu_cli.names.label_names import LabelNames
from mpu_cli.names.naming import read_names
from mpu_cli.review.decisions import NOTHING_ELSE, checksum, read
from mpu_cli.review.matching import match
from mpu_cli.svmlight import reader
from tests.golden import refused
from tests.review.test_by_keyboard import ARROWS, ENTER, cells

pytestmark = pytest.mark.slow  # `test_by_keyboard` has a whole review

ESCAPE, TAB, CONTROL = "\ue00c", "\ue004", "\ue009"
HEADER = "instance\tlabel\tverdict\n"


def test_every_decision_can_be_taken_back(page):
    page.press("y", ARROWS["up"], "u")
    assert page.rows("suggested") == {"music": "undecided", "Bücher": "undecided"}
    page.press("/", "buch", ENTER, ARROWS["down"])  # without its accent; then music is marked, which is open
    assert page.rows("suggested") == {"music": "undecided", "Bücher": "yes"}
    page.click("#suggested .row.marked .yes")
    assert page.rows("suggested")["Bücher"] == "undecided"
    page.press("e", ARROWS["left"])
    assert page.rows("suggested")["music"] == "no because nothing else is true"
    page.press("e")
    assert page.find("#close").get_attribute("aria-pressed") == "false"
    assert cells(page.export()) == []


def test_by_buttons_alone(page):
    page.click("#help")
    page.click("#shortcuts")
    page.click("#keys-close")
    page.press("y", "e", ARROWS["right"])
    assert page.text("#title") == "Instance 1"
    assert page.text("#count") == "0 of 3 reviewed"
    page.click("#suggested li:nth-child(2) .no")
    page.click("#annotated li:nth-child(1) .no")
    assert "your answer overrides the annotation" in page.text("#annotated")
    page.click("#next")
    page.click("#previous")
    page.click("#next-open")
    page.click("#next-open")
    page.click("#close")
    assert page.text("#title") == "Instance 2"
    assert [cell[:3] for cell in cells(page.export())] == [(1, 1, False), (1, 4, False), (2, NOTHING_ELSE, False)]
    page.open()
    assert not page.find("#shortcuts").is_selected()


def test_focus_goes_where_one_reads_on(page):
    focus = "return document.activeElement.ariaLabel ?? document.activeElement.id"
    page.press("n")
    assert page.run(focus) == "Bücher, suggested, probability 25 %, undecided"
    assert page.run("return document.getElementById('said').textContent") == "music: no"
    page.press(TAB)
    assert page.run(focus) == "Yes: Bücher"
    page.press(ENTER)
    assert page.run(focus) == "Bücher, suggested, probability 25 %, yes"
    page.press(ARROWS["right"])
    assert page.run(focus) == "title"
    page.press("/", "s", ARROWS["down"])
    assert page.find("#search").get_attribute("aria-activedescendant") == "match-1"
    assert page.text("#match-1 .name") == "the arts"
    page.press(ESCAPE)
    assert page.run(focus) == "sports, suggested, probability 50 %, undecided"


def test_goes_to_a_number(page):
    field = page.find("#position")
    field.clear()
    field.send_keys("3", ENTER)
    assert page.text("#title") == "Instance 2"
    field.clear()
    field.send_keys("99", TAB)
    assert field.get_attribute("value") == "3"
    field.click()
    page.press("1", ENTER)  # in place of the 3
    assert page.text("#title") == "Instance 1"


def test_what_is_annotated_is_not_decided_by_a_slip(open_page, news, tmp_path):
    """Where nothing is suggested no row is marked, until an arrow or the Tab key marks one."""
    page = open_page(news)
    page.press("n", "y")
    assert page.rows("annotated") == {"Label 1": "annotated", "Label 3": "annotated"}
    page.press(ARROWS["down"], "n", ARROWS["down"], "y")
    assert page.rows("annotated") == {"Label 1": "no", "Label 3": "yes"}
    page.press(ARROWS["right"], TAB, "n")
    assert page.rows("annotated") == {"Label 2": "no"}
    page.press(ARROWS["left"])
    page.click("#annotated li:nth-child(2) .name")
    page.press("u")
    assert page.rows("annotated") == {"Label 1": "no", "Label 3": "annotated"}


def test_a_sample_is_marked_and_has_to_be_closed(open_page, news, tmp_path):
    page = open_page(news, "--sample", 2, "--suggestions", tmp_path / "missing.tsv", "--seed", 3)
    first = int(page.text("#title").split()[1])
    while "undecided" in page.rows("suggested").values():
        page.press("n")
    assert page.text("#count") == "0 of 2 reviewed"
    page.press("e", "e")
    assert page.text("#count") == "2 of 2 reviewed"
    exported = cells(page.export())
    assert all(is_sample for *_, is_sample in exported)
    assert (first, NOTHING_ELSE, False, True) in exported
    assert len(match(read([page.downloads / "checked.tsv"]), reader.read(news), news).sampled) == 2


def test_questions_are_answered_without_their_probabilities(open_page, news, tmp_path):
    """These stand in the export, with what each was drawn with; labels keep their order, which says nothing."""
    lines = "1\t2\t0.125\t0.5\tquestion", "1\t4\t0.75\t0.25\tquestion"
    head = "instance\tlabel\tprobability\tdrawn\tsource\tverdict\n"
    (tmp_path / "questions.tsv").write_text(head + "".join(f"{line}\t\n" for line in lines))
    page = open_page(news, "--suggestions", tmp_path / "questions.tsv")
    assert page.rows("suggested") == {"Label 2": "undecided", "Label 4": "undecided"}
    assert "%" not in page.text("#suggested") + page.run("return document.querySelector('.row').ariaLabel")
    page.press("n", "y")
    decisions = read([page.export()])
    columns = decisions.label, decisions.verdict, decisions.probability, decisions.chance
    assert list(zip(*map(list, columns), strict=True)) == [(2, False, 0.125, 0.5), (4, True, 0.75, 0.25)]


def test_a_suggestion_that_was_a_question_is_not_counted_as_one(page, tmp_path):
    """Otherwise, the list would seem to have lost a line, and its decisions would not count as in order."""
    (tmp_path / "asked.tsv").write_text("instance\tlabel\tdrawn\tverdict\tsource\n1\t2\t0.5\tyes\tquestion\n")
    page.import_file(tmp_path / "asked.tsv")
    page.click("#suggested li:nth-child(2) .yes")
    path = page.export()
    assert "# suggestions 3\n" in path.read_text()
    assert read([path]).origin.tolist() == [HowDecided.UNKNOWN, HowDecided.IN_ORDER]


def test_features_where_there_is_no_text(open_page, news, tmp_path):
    (tmp_path / "words").write_text("goal\n<b>match</b>\nbrush\n")
    page = open_page(news, "--features", tmp_path / "words")
    assert [row.text for row in page.find_all("#features tbody tr")] == ["<b>match</b> -2", "goal 0.5"]
    assert not page.find("#text").is_displayed()
    assert page.rows("annotated") == {"Label 1": "annotated", "Label 3": "annotated"}
    assert not page.find("#suggestions").is_displayed()


def test_what_was_exported_can_be_imported(page, tmp_path):
    page.press("y", "n", ARROWS["right"], "e")
    path = tmp_path / "mine.tsv"
    path.write_bytes(page.export().read_bytes())
    exported = cells(path)
    page.run("localStorage.clear()")
    page.open()
    assert page.text("#count") == "0 of 3 reviewed"
    assert page.import_file(path) == "mine.tsv: 3 decisions."
    assert page.text("#count") == "2 of 3 reviewed"
    assert cells(page.export()) == exported


def test_imports_what_a_spreadsheet_has_written(page, tmp_path):
    path = tmp_path / "sheet.tsv"
    lines = '\ufeff"# a, b"', "Note\tLabel\tInstance\tVerdict", "\t2 \t1\tYES", "", "x\t3\t3\tno", "y\t*\t4\tno", ""
    path.write_bytes("\r\n".join(lines).encode())
    said = "3 decisions. 1 are on instances that are not on this page, and were left out."
    assert page.import_file(path).endswith(said)
    assert page.rows("suggested")["music"] == "yes"
    assert [cell[:2] for cell in cells(page.export())] == [(1, 2), (4, NOTHING_ELSE)]


def test_imports_tables_with_other_separators(open_page, news, tmp_path):
    (tmp_path / "tags").write_text('sports\n"Bread"; butter, jam\nthe arts\nart\n')
    page = open_page(news, "--suggestions", tmp_path / "missing.tsv", "--labels", tmp_path / "tags")
    names = LabelNames.of(read_names(tmp_path / "tags")[0])
    rows = ["# by hand, in a spreadsheet"], ["note", "instance", "label", "verdict"], ["", "1", names.name(2), "yes"]
    rows += ["", "", "", ""], ["# a, b", "4", "sports", "no"], ["# no row"]
    for delimiter, quoting in product(",;\t", (csv.QUOTE_MINIMAL, csv.QUOTE_ALL)):
        with (tmp_path / "sheet.csv").open("w") as out:
            csv.writer(out, delimiter=delimiter, quoting=quoting).writerows(rows)
        assert page.import_file(tmp_path / "sheet.csv") == "sheet.csv: 2 decisions."
        exported = read([page.export()], names)
        assert [exported.instance.tolist(), exported.label.tolist()] == [[0, 3], [2, 1]]
        page.run("localStorage.clear()")
        page.open()


def test_imports_the_labels_that_mpu_reads(open_page, news, tmp_path):
    """Names that are numbers or formulas, of several labels, further names, URIs and the column `number`."""
    of_labels = "003\tsports\thttps://x.org/1", "04", "Cafe\u0301", "art", "=1+1, 2", "the arts", "the arts"
    (tmp_path / "tags").write_text("".join(f"{i}\t{name}\n" for i, name in enumerate(of_labels, 1)))
    page = open_page(news, "--suggestions", tmp_path / "missing.tsv", "--labels", tmp_path / "tags")
    names = LabelNames.of(read_names(tmp_path / "tags")[0])
    path, head = tmp_path / "by.tsv", "instance\tnumber\tlabel\tverdict\n"
    other = "is the number of a label and a name of another; write the name, and the number in brackets"
    for row, problem in {
        "1\t\t003\tyes": f"“003” {other}",
        "1\t\t04\tyes": f"“04” {other}",
        "1\t\tthe arts\tyes": "“the arts” is the name of several labels; write the number of one",
        "1\t3\tart\tyes": "label “art” does not have the number 3; correct one of them",
    }.items():
        path.write_text(f"{head}{row}\n")
        with refused(InputError, ":2: "):
            read([path], names)
        assert page.import_file(path) == f"by.tsv was not imported: line 2: {problem}."
    rows = "1\t\t003 (1)\tyes", "1\t2\t2\tyes", "2\t\tCaf\u00e9\tno", "2\t1\tsports\tyes"
    rows += (
        "4\t1\thttps://x.org/1\tno",
        "4\t4\tart\tyes",
        "4\t*\t*\tno",
        '1\t\t"\'=1+1, 2"\tyes',
        "1\t\tthe arts (7)\tno",
    )
    path.write_text(head + "".join(f"{row}\n" for row in rows))
    assert page.import_file(path) == "by.tsv: 9 decisions."
    read_by_mpu = read([path], names)
    exported = read([page.export()], names)
    for column in ("instance", "label", "verdict"):
        assert getattr(exported, column).tolist() == getattr(read_by_mpu, column).tolist()


def test_opens_with_decisions_on_labels_called_by_numbers(open_page, news, tmp_path):
    (tmp_path / "tags").write_text("sports\n4\nBücher\nart\n")
    (tmp_path / "checked.tsv").write_text(HEADER + "1\tart\tyes\n2\t4 (2)\tno\n")
    page = open_page(news, "--reviewed", tmp_path / "checked.tsv", "--labels", tmp_path / "tags")
    assert cells(page.export()) == [(1, 4, True, True), (2, 2, False, True)]


WRONG = [
    (f"# checksum {'0' * 64}\n{HEADER}1\t2\tyes\n", "line 1: this is a review of other data; its checksum differs"),
    (HEADER + "1\t2\tyes\n1\t2\tno\n", "line 3: contradicts an earlier line about label 2"),
    (HEADER + "1\t2\tyes\n1\t2\tmaybe\n", "line 3: verdict “maybe” is not yes, no or empty"),
    (HEADER + "1\t2\ttoString\n", "line 2: verdict “toString” is not yes, no or empty"),
    (HEADER + "1\t__proto__\tyes\n", "line 2: “__proto__” is not a label"),
    (HEADER + "1\t2147483647\tyes\n", "line 2: “2147483647” is not a label"),
    (HEADER + "1000000000001\t2\tyes\n", "line 2: “1000000000001” is not an instance number"),
    (HEADER + "1\t2\tyes\n0\t2\tno\n", "line 3: “0” is not an instance number"),
    (HEADER + "1\t2\tyes\n1\tchess\tno\n", "line 3: “chess” is not a label"),
    ("label\tinstance\tverdict\n#2\t1\tyes\n", "line 2: “#2” is not a label"),
    (HEADER + "1\t*\tyes\n", "line 2: the only verdict of * is no"),
    ("instance\tlabel\tverdict\tdrawn\n1\t2\tyes\t1.5\n", "line 2: “1.5” is not a number from 0 to 1"),
    (
        "instance\tlabel\tverdict\tsource\n1\t2\tyes\tmine\n",
        "line 2: source “mine” is not one of sample, suggestion, question, added and empty",
    ),
    ("1,2,yes\n", "line 1: the columns instance, label and verdict should be named here, separated by tabs"),
    ("", "the file is empty"),
]


def test_a_file_that_is_wrong_is_not_imported_at_all(page, tmp_path):
    for text, problem in WRONG:
        (tmp_path / "bad.tsv").write_text(text)
        assert page.import_file(tmp_path / "bad.tsv") == f"bad.tsv was not imported: {problem}."
        assert page.text("#export") == "Export", text


def test_what_the_page_takes_is_what_mpu_takes(page, tmp_path):
    """The same numbers of labels and instances, with zeros before them too."""
    path = tmp_path / "mine.tsv"
    path.write_text(f"{HEADER}{'0' * 30}1\t{'0' * 5000}7\tYES\n1\t2147483646\tno\n1000000000000\t0\tyes\n")
    read([path])
    assert page.import_file(path).startswith("mine.tsv: 3 decisions. 1 are on instances that are not on this page")
    assert cells(page.export()) == [(1, 7, True, False), (1, 2147483646, False, False)]


def test_two_windows_of_one_page_show_the_same(page):
    first = page.driver.current_window_handle
    page.driver.switch_to.new_window("tab")
    page.open()
    page.press("y")
    page.driver.close()
    page.driver.switch_to.window(first)
    page.wait(lambda: page.rows("suggested")["music"] == "yes")


def test_thousands_of_instances_and_labels_are_not_in_the_page_at_once(open_page, tmp_path):
    (tmp_path / "many.svm").write_text("".join(f"{i % 9000 + 1} 1:{i + 1}\n" for i in range(5000)))
    (tmp_path / "many.names").write_text("".join(f"Subject {i:x} of knowledge\n" for i in range(9000)))
    texts = (f"Record {i} " + "words " * (200 if i else 100_000) + "\n" for i in range(5000))
    (tmp_path / "many.txt").write_text("".join(texts))
    page = open_page(tmp_path / "many.svm", "--text", tmp_path / "many.txt", "--labels", tmp_path / "many.names")
    start, *elements = page.run(
        """
        const search = document.getElementById("search");
        const start = document.getElementById("text").textContent.slice(0, 14);
        search.focus();
        search.value = "subject f know";
        const acts = [() => search.dispatchEvent(new Event("input"))];
        for (const name of ["next", "close"]) acts.push(() => document.getElementById(name).click());
        return [start, ...acts.map((act) => { act(); return document.querySelectorAll("*").length; })];
        """
    )
    assert start == "Record 0 words"
    assert max(elements) < 1000, elements


RECORDS = """{"id": "b 1", "title": "Football", "abstract": "Of football, the game.", "tags": ["sports"]}
{"id": "=b2", "title": "Songs", "abstract": "Of songs.", "tags": ["\\"Music\\" (1)"]}
"""


@pytest.fixture
def records(run, tmp_path):
    """Give the data of RECORDS, which have title and text."""
    (tmp_path / "news.jsonl").write_text(RECORDS)
    fields = "--text", "title", "--text", "abstract"
    run.ok("vectorize", tmp_path / "news.jsonl", *fields, "-o", tmp_path / "n.svm", "--min-df", 1)
    return tmp_path / "n.svm"


def test_records_have_title_id_link_and_names_in_the_export(open_page, run, records, tmp_path):
    page = open_page(records, "--link", "https://library.example/{id}?x=1")
    assert (page.text("#title"), page.text("#text")) == ("Football", "Of football, the game.")
    assert page.text("#record") == "b 1 Open the record"
    assert page.find("#record a").get_attribute("href") == "https://library.example/b%201?x=1"
    page.press("/", "music", ENTER, ARROWS["right"], "e")
    path = page.export()
    rows = [line.split("\t") for line in path.read_text().splitlines() if not line.startswith("#")]
    assert rows == [
        ["instance", "id", "label", "number", "verdict", "source"],
        ["1", "b 1", '"""Music"" (1)"', "1", "yes", "added"],
        ["2", "'=b2", "*", "*", "no", ""],
    ]
    given = "--data", records, "--reviewed", path
    run.ok("apply", tmp_path / "news.jsonl", *given, "-o", tmp_path / "new.jsonl")
    mine = tmp_path / "mine.tsv"
    mine.write_text('id\tlabel\tverdict\n"\'=b2"\tsports\tyes\nb9\tsports\tno\n')
    assert page.import_file(mine) == "mine.tsv: 1 decisions."
    mine.write_text("instance\tid\tlabel\tverdict\n1\t'=b2\tsports\tyes\n")
    assert "instance 1 has not the id" in page.import_file(mine)
    assert page.messages() == []


def undo(page) -> None:
    page.find("body").send_keys(CONTROL, "z")


@pytest.mark.parametrize(
    ("reviewer", "name"), [("O'Neil\u202e/a:b?", "O'Neil-a-b"), ("J. Doe-Łuk, 山田", "J. Doe-Łuk, 山田"), ("?", "")]
)
def test_the_name_of_the_file_has_that_of_the_reviewer(page, reviewer, name):
    page.press("y")
    assert page.export(reviewer).name == (f"checked-{name}.tsv" if name else "checked.tsv")


def test_a_record_that_is_decided_has_a_marked_row_and_after_a_search_the_keys_decide_suggestions(page):
    page.press("y", "y", "e", ARROWS["left"])
    assert page.rows("suggested") == {"music": "yes", "Bücher": "yes"}
    assert [row.text.split("\n")[0] for row in page.find_all(".row.marked")] == ["music"]
    page.press("u")
    assert page.rows("suggested") == {"music": "no because nothing else is true", "Bücher": "yes"}
    page.press(ARROWS["right"], "/", "MUS", ENTER, "n")  # instance 4, of which sports is suggested
    assert page.rows("added") == {"music": "yes"}
    assert page.rows("suggested") == {"sports": "no"}


def test_a_label_stands_under_its_broader_one(open_page, records, tmp_path):
    names = (tmp_path / "n.text" / "labels").read_text().splitlines()
    (tmp_path / "n.text" / "broader").write_text("1\t2\n")
    page = open_page(records)
    page.press("/", "music", ENTER)
    assert page.text("#added .broader") == f"in {names[1]}"
    assert page.messages() == []


def test_what_speaks_for_the_marked_label_is_highlighted(open_page, records, tmp_path):
    lines = ["instance\tlabel\tverdict\tsource\twhy"]
    reasons = (8, "fóotballi; the cup"), (9, ""), (10, "of footbal; footbal of"), (11, "of; the of")
    lines += [f"1\t{label}\t\tsuggestion\t{why}" for label, why in reasons]
    (tmp_path / "missing.tsv").write_text("\n".join(lines) + "\n")
    page = open_page(records, "--suggestions", tmp_path / "missing.tsv")

    def marks():
        return page.run("return [...document.querySelectorAll('mark')].map((mark) => mark.textContent)")

    assert marks() == ["Football", "football"]
    assert (page.text("#title"), page.text("#text")) == ("Football", "Of football, the game.")
    page.press(ARROWS["down"])
    assert marks() == []
    page.press(ARROWS["down"])
    assert marks() == ["Of", "football"]  # side by side
    page.press(ARROWS["down"])
    assert marks() == []  # function words alone
    assert page.messages() == []


def test_who_decides_is_asked_once_and_stands_in_the_file(page):
    page.press("y")
    page.click("#export")
    page.click("#who-cancel")
    assert not page.run("return document.getElementById('who').open")
    assert page.text("#export") == "Export (1 new)"
    path = page.export(" Anna B. ")
    assert path.name == "checked-Anna B.tsv"
    rows = [line.split("\t") for line in path.read_text().splitlines() if not line.startswith("#")]
    assert rows[0][-1] == "reviewer"
    assert [row[-1] for row in rows[1:]] == ["Anna B.", "", "", ""]
    assert cells(path) == [(1, 2, True, False)]
    page.open()
    page.press("n")
    assert "Anna" in page.export().read_text()  # not asked again
    page.click("#advance")
    kept = "const other = new Reviews({...data, key: 'another page'}, localStorage); return "
    assert page.run(kept + "[other.reviewer, other.get('advance'), other.size]") == ["Anna B.", "on", 0]

    page.press("?")
    page.click("#change-reviewer")
    page.run("document.getElementById('reviewer').value = ''")
    page.click("#who-export")
    page.wait((page.downloads / "checked.tsv").exists)
    assert "reviewer" not in page.export().read_text()
    assert page.messages() == []


def test_what_was_decided_can_be_taken_back_after_the_page_was_opened_again(page, tmp_path):
    page.press("y", ARROWS["up"], "n", "e")  # music: yes, then no; nothing else is true
    page.open()
    assert page.text("#title") == "Instance 4"
    undo(page)
    assert page.find("#close").get_attribute("aria-pressed") == "false"
    undo(page)
    assert page.rows("suggested")["music"] == "yes"
    page.open()
    undo(page)
    assert page.rows("suggested")["music"] == "undecided"
    undo(page)
    assert page.run("return document.getElementById('said').textContent") == "There is nothing to undo."
    page.open()
    assert page.run("return [reviews.size, reviews.steps.length, reviews.get('steps')]") == [0, 0, None]
    other = tmp_path / "other.tsv"
    other.write_text(HEADER + "1\t2\tno\n4\t1\tyes\n")
    page.import_file(other)
    page.open()
    undo(page)
    assert page.run("return reviews.size") == 0


CHECKED = """# checksum {}
instance\tlabel\tnumber\tprobability\tdrawn\tverdict\tsource\treviewer
1\tmusic\t2\t0.97\t\tyes\tsuggestion\tAnna
1\tsports\t1\t\t\tno\tsuggestion\tAnna
3\tsports\t1\t0.5\t\tyes\tsuggestion\tAnna
3\tBücher\t4\t0.5\t0.25\tno\tquestion\t=Ben
4\tmusic\t2\t\t\tyes\tadded\tAnna
4\t*\t*\t\t\tno\tsuggestion\tAnna
"""
EXPORTED = """instance|label|number|probability|drawn|verdict|source|reviewer
1|music|2|0.8125||no|suggestion|Cem
1|Bücher|4|0.25||yes|suggestion|Cem
1|sports|1|||no|suggestion|Anna
4|sports|1|0.5|||suggestion|
4|*|*|||no|suggestion|Anna
4|music|2|||yes|added|Anna
2|the arts|3|0.125|||suggestion|
3|sports|1|0.5||yes|suggestion|Anna
3|Bücher|4|0.5|0.25|no|question|'=Ben
"""


def test_work_goes_on_where_it_was_elsewhere(open_page, news, tmp_path):
    """By another person: what the first one decided is shown with the name, and stays in the file unless changed."""
    given = "--suggestions", tmp_path / "missing.tsv", "--labels", tmp_path / "tags"
    checked = tmp_path / "checked-Anna.tsv"
    checked.write_text(CHECKED.format(checksum(reader.read(news).features)))
    page = open_page(news, *given, "--reviewed", checked)
    assert page.text("#title") == "Instance 1"  # the first one that is open
    assert page.rows("suggested") == {"music": "yes", "Bücher": "undecided"}
    assert page.rows("annotated")["sports"] == "no"
    assert page.text("#suggested .row").startswith("music\ndecided by Anna")
    assert (page.text("#count"), page.text("#export")) == ("1 of 3 reviewed", "Export")
    page.press("y")  # Bücher
    page.open()
    page.press("o")
    assert page.text("#title") == "Instance 2"
    page.press(ARROWS["left"])
    assert page.rows("added") == {"music": "yes"}
    page.press(ARROWS["left"], "n")  # music, of which Anna has said yes
    assert "decided" not in page.text("#suggested")
    page.open()
    assert page.rows("suggested") == {"music": "no", "Bücher": "yes"}
    assert page.text("#export") == "Export (2 new)"
    path = page.export("Cem")
    assert path.read_text().split("\n")[2:] == EXPORTED.replace("|", "\t").split("\n")
    mine = tmp_path / "mine.tsv"
    mine.write_bytes(path.read_bytes())
    page = open_page(news, *given, "--reviewed", mine)  # again, on a third machine
    page.run("reviews.setReviewer('Dora')")
    assert page.export().read_text() == mine.read_text()
    assert page.messages() == []


def test_decisions_that_another_page_has_not_exported_can_be_taken(page, run, news, tmp_path):
    """The page is made again, with an earlier review or of another list; what was decided meanwhile is not lost."""
    page.press("y", "n", ARROWS["right"], "y")  # of instance 1, and of 4
    (tmp_path / "mine.tsv").write_bytes(page.export().read_bytes())
    page.press("n", ARROWS["right"], "n", "e")  # instance 4, whose yes was exported, and 2
    run.ok("review", news, "--reviewed", tmp_path / "mine.tsv", "-o", page.path)
    page.open()
    assert page.text("#notice").startswith("3 decisions on these data, made on another page in this browser, were not")
    (tmp_path / "missing.tsv").write_text(HEADER + "4\t1\t\n3\t1\t\n")
    given = "--suggestions", tmp_path / "missing.tsv"
    run.ok("review", news, *given, "--reviewed", tmp_path / "mine.tsv", "-o", page.path)
    page.open()
    assert "2 of them are on instances that are not on this page" in page.text("#notice")
    page.click("#notice button")
    from selenium.webdriver.support.expected_conditions import alert_is_present

    page.wait(lambda: alert_is_present()(page.driver)).accept()
    page.press(ARROWS["left"])  # from instance 3, which is open, to 4
    assert page.rows("suggested") == {"Label 1": "no"}
    assert page.text("#export") == "Export (1 new)"
    page.open()
    assert page.text("#notice").startswith("2 decisions")
    run.ok("review", news, "-o", page.path)
    page.open()
    page.click("#notice button")
    taken = [(2, NOTHING_ELSE, False), (2, 3, False), (4, 1, False)]
    assert [cell[:3] for cell in cells(page.export())] == taken
    page.open()
    assert not page.find("#notice").is_displayed()
    assert page.messages() == []


def test_what_other_pages_contradict_each_other_about_stays_undecided(page, run, news, tmp_path):
    """Page of 1 and 4: music yes, sports yes. Page of 1: music no. A third: sports yes, as the first."""
    page.press("y", ARROWS["right"], "y")
    for rows, keys in (("1\t2\t\n", "ne"), ("4\t1\t\n", "y")):
        (tmp_path / "other.tsv").write_text(HEADER + rows)
        run.ok("review", news, "--suggestions", tmp_path / "other.tsv", "-o", page.path)
        page.open()
        page.press(*keys)
    run.ok("review", news, "-o", page.path)
    for said in ("1 decisions on these data", "Other pages contradict each other about 1 rows"):
        page.open()
        assert page.text("#notice").startswith(said) and "about 1 rows" in page.text("#notice")
        for button in page.find_all("#notice button"):
            button.click()
        assert [cell[:3] for cell in cells(page.export())] == [(4, 1, True)]
    page.run("reviews.decide(1, '2', false)")
    page.open()
    assert page.text("#notice").startswith("2 decisions")  # the yes of the first page, and that nothing else is true
    assert page.messages() == []


def test_a_full_browser_still_shows_what_it_keeps(page):
    page.press("y")
    page.run(
        "for (let size = 1 << 22; size; size >>= 1) {"
        "try { localStorage.setItem(size, 'x'.repeat(size)); } catch { continue; } }"
    )
    page.open()
    assert page.rows("suggested") == {"music": "yes", "Bücher": "undecided"}
    page.press("y" * 5)
    assert "export before you close" in page.text("#notice")
    assert [cell[:3] for cell in cells(page.export())] == [(1, 2, True), (1, 4, True)]


@pytest.mark.parametrize(
    ("close", "undo", "at"), [("e", "z", ""), ("\u0443", "\u044f", "Key"), ("\u05e7", "\u05d6", "Key")]
)
def test_keys_count_by_their_places_on_other_keyboards_and_once_if_they_are_held(page, close, undo, at):
    def press(key, letter, **more):
        event = {"key": key, "code": at and at + letter} | more
        page.driver.execute_script("document.dispatchEvent(new KeyboardEvent('keydown', arguments[0]))", event)

    for repeat in (False, True, True):
        press(close, "E", repeat=repeat)
    assert page.text("#count") == "1 of 3 reviewed"
    press(undo, "Z", ctrlKey=True)
    assert page.text("#count") == "0 of 3 reviewed"
    press("x", "Y")  # where X is in the place of Y
    assert page.text("#export") == "Export"


def test_goes_on_by_itself_where_that_is_wanted(page):
    page.click("#advance")
    page.press("y")
    assert page.text("#title") == "Instance 1"
    page.press("n")
    assert page.text("#title") == "Instance 4"
    page.press(ARROWS["left"], ARROWS["up"], "n")  # what was decided already is changed in place
    assert page.text("#title") == "Instance 1"
    page.press(ARROWS["right"], "y", "n")
    assert page.text("#count") == "3 of 3 reviewed"
    page.open()
    assert page.find("#advance").is_selected()


def test_an_import_that_changes_decisions_asks_first(page, tmp_path):
    page.press("y", "n")
    (tmp_path / "other.tsv").write_text(HEADER + "1\t2\tno\n1\t4\tno\n4\t1\tyes\n")
    for answer, kept in (("dismiss", True), ("accept", False)):
        page.find("#import-file").send_keys(str(tmp_path / "other.tsv"))
        from selenium.webdriver.support.expected_conditions import alert_is_present

        alert = page.wait(lambda: alert_is_present()(page.driver))
        assert alert.text == "other.tsv changes 1 of your decisions. Take those of the file?"
        getattr(alert, answer)()
        words = "was not imported" if kept else "3 decisions"
        page.wait(lambda words=words: words in page.text("#notice"))
        assert page.rows("suggested") == {"music": "yes" if kept else "no", "Bücher": "no"}


def test_finds_labels_by_all_names_and_with_a_typo(open_page, news, tmp_path):
    names = "bridges\thttps://v/1\tdie Trager", "C++ (language)", "Straße", "Οδός"
    (tmp_path / "tags").write_text("".join(f"{name}\n" for name in names))
    page = open_page(news, "--labels", tmp_path / "tags")
    # The first one is a further name, without its accents.
    of_bridges = "TRÄGER", "brigde", "bidges", "bricdges", "brudges"
    for found, *of_one in (
        ["bridges", *of_bridges],
        ["C++ (language)", "c++ (lang", "c++ (lamg"],
        ["Straße", "STRASSE", "straße", "strase"],
        ["Οδός", "ΟΔΟΣ"],
    ):
        for typed in of_one:
            page.press(ESCAPE, "/", typed)
            assert [match.text for match in page.find_all("#matches .name")] == [found], typed


def test_labels_of_one_name_are_told_apart(open_page, news, tmp_path):
    """By number and URI, in the search and on the rows; both find a label, and the number stands in the file."""
    lines = "Rock\thttps://v/gnd/77-X", "Rock\thttps://v/gnd/8", "the arts\thttps://other/v#77", "no URI"
    (tmp_path / "tags").write_text("".join(f"{line}\n" for line in lines))
    page = open_page(news, "--suggestions", tmp_path / "missing.tsv", "--labels", tmp_path / "tags")
    assert page.rows("suggested") == {"Rock (2)": "undecided", "no URI": "undecided"}
    assert page.text("#suggested .note-of") == "https://v/gnd/8"
    assert page.text("#annotated").startswith("Rock (1)\nhttps://v/gnd/77-X")
    page.press("/", "rock")
    options = [option.text.split("\n") for option in page.find_all("#matches [role=option]")]
    assert options == [["Rock (1)", "https://v/gnd/77-X", "annotated"], ["Rock (2)", "https://v/gnd/8", "on 1 record"]]
    for typed, found in (("77", "the arts"), ("77-x", "Rock (1)"), ("https://v/gnd/8", "Rock (2)"), ("4", "no URI")):
        page.press(ESCAPE, "/", typed)
        assert [match.text.split("\n")[0] for match in page.find_all("#matches .name")] == [found]
    page.press(ESCAPE, "y", ARROWS["right"], "/", "gnd/77-X")
    assert page.text("#matches") == "No label has this name, number or URI"
    assert "\tRock (2)\t2\t0.8125\tyes\t" in page.export().read_text()


def test_search_has_words_before_their_beginnings_and_these_before_parts_and_typos(open_page, news, tmp_path):
    names = "Hyperspectral sensor\tImaging optical sensor", "Electro-optical sensor", "Optical sensors on ships"
    names += "Optical sensor\tPhotosensor", "Symbiosis", "Biology", "Bio"
    (tmp_path / "tags").write_text("".join(f"{name}\n" for name in names))
    sensors = ["Optical sensor", "Electro-optical sensor", "Hyperspectral sensor", "Optical sensors on ships"]
    page = open_page(news, "--labels", tmp_path / "tags")  # label 3 is the most frequent one, those from 4 on have none
    for typed in ("optical sensor", "optcal sensor", "sensor opt", "bio"):
        page.press(ESCAPE, "/", typed)
        found = [match.text for match in page.find_all("#matches .name")]
        assert found == (sensors if "sensor" in typed else ["Bio", "Biology", "Symbiosis"]), typed


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


def test_on_a_narrow_screen_a_name_has_its_width_and_what_is_marked_is_not_under_the_footer(page, screen):
    screen.size(320)
    name, button = page.run(
        "return ['.name', 'button'].map((one) => document.querySelector(`.row ${one}`).getBoundingClientRect())"
    )
    assert name["width"] > 250
    assert name["bottom"] <= button["top"]
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
