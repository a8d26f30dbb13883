"""Review files: what is read, what is tolerated, and what is refused with its place."""

import csv
import gzip
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.metrics import cohen_kappa_score

from mpu_cli.errors import InputError
from mpu_cli.names.label_names import LabelNames, RecordIds
from mpu_cli.review.decisions import NOTHING_ELSE, read, write
from tests.golden import refused

HEADER = "instance\tlabel\tverdict\tsource\n"


def cells(decisions) -> list[tuple]:
    columns = decisions.instance, decisions.label, decisions.verdict, decisions.is_sample
    return list(zip(*(column.tolist() for column in columns), strict=True))


def test_reads_decisions(file):
    decisions = read([file(HEADER + "3\t7\tyes\tsample\n3\t*\tno\tsample\n1\t0\tno\tsuggestion\n1\t2\t\tsuggestion\n")])
    assert cells(decisions) == [(0, 0, False, False), (2, NOTHING_ELSE, False, True), (2, 7, True, True)]
    assert decisions.line.tolist() == [4, 3, 2]


@pytest.mark.parametrize(("ids", "skipped"), [((9, 72, 169, 717), None), ((9, 717, 72, 169), (1, 3))])
def test_a_file_sorted_by_numeric_ids_does_not_show_which_questions_were_skipped(file, ids, skipped):
    rows = zip((5, 1, 8, 2), ids, (2, 1, 3, 1), ("yes", "", "no", "no"), (0.5, 0.2, 0.9, 0.3), strict=True)
    lines = ("{}\t{}\t{}\t{}\tquestion\t{}\n".format(*row) for row in rows)
    assert read([file("instance\tid\tlabel\tverdict\tsource\tdrawn\n" + "".join(lines))]).skipped == skipped


@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
@pytest.mark.parametrize("delimiter", list(",;\t"))
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_spreadsheet_may_write_it_in_another_way(file, delimiter, encoding, quoting):
    """All is quoted by write.table of R."""
    rows = [["1", "Bread, butter", "yes", "sample"], ["", "", "", ""], ["2", 'The "A"; B', "no", "sample"]]
    out = io.StringIO()
    rows = [["# suggestions 4", "", "", ""], HEADER.split(), *rows]
    csv.writer(out, delimiter=delimiter, quoting=quoting).writerows(rows)
    names = LabelNames.of({1: ("Bread, butter",), 2: ('The "A"; B',)}, "names")
    assert cells(read([file(out.getvalue().encode(encoding))], names)) == [(0, 1, True, True), (1, 2, False, True)]


LIST = "# suggestions 4\n" + HEADER
IN_ORDER = {
    "from the top": (LIST, "yes yes - -", [1, 1]),
    "all of it": (LIST, "yes no yes yes", [1] * 4),
    "with a gap": (LIST, "yes - yes -", [0, 0]),
    "not from the top": (LIST, "- yes yes yes", [0] * 3),
    "of which lines are gone": (LIST, "yes yes yes", [0] * 3),
    "whose size nobody knows": (HEADER, "yes yes - -", [0, 0]),
    "twice, with a gap in one": (LIST, "yes yes - -; - yes - yes", [1, 1, 0]),
}


@pytest.mark.parametrize("name", IN_ORDER)
def test_a_list_that_was_answered_in_order_is_known(file, name):
    head, verdicts, origins = IN_ORDER[name]
    paths = []
    for i, of_file in enumerate(verdicts.split("; ")):
        rows = [f"{9 - at}\t7\t{word.strip('-')}\tsuggestion\n" for at, word in enumerate(of_file.split())]
        paths.append(file(head + "".join(rows), f"{i}.tsv"))
    assert read(paths).origin.tolist() == origins[::-1]


ORDERS = {
    "by probability": ("1 9 yes", "2 8 yes", "1 3 -", "3 2 -"),
    "by instance, as on the page": ("5 9 yes", "5 3 yes", "2 8 -", "3 2 -"),
    "by verdict": ("1 9 yes", "3 2 yes", "2 8 -", "1 3 -"),
    "by verdict, of which none is left": ("1 9 yes", "3 2 yes", "2 8 yes", "1 3 yes"),
}


@pytest.mark.parametrize("name", ORDERS)
def test_a_list_sorted_by_verdict_was_not_answered_in_order(file, name):
    cells = (row.replace("-", "").split(" ") for row in ORDERS[name])
    rows = (f"{i}\t{k}\t{verdict}\tsuggestion\t0.{k}\n" for i, k, verdict in cells)
    decisions = read([file(f"{LIST[:-1]}\tprobability\n{''.join(rows)}")])
    assert (set(decisions.origin.tolist()) == {1}) == (name != "by verdict")


def test_what_was_added_stays_so_when_it_is_written_again(file, tmp_path):
    """Also if it was decided no."""
    head = HEADER[:-1] + "\tprobability\tdrawn\n"
    rows = "1\t7\tno\tadded\t\t\n1\t8\tyes\tadded\t\t\n2\t7\tno\tsuggestion\t0.5\t\n3\t7\tno\tquestion\t0.5\t0.1\n"
    decisions = read([file(head + rows)])
    with (tmp_path / "again.tsv").open("wb") as out:
        decisions.write(out)
    assert read([tmp_path / "again.tsv"]).origin.tolist() == decisions.origin.tolist() == [-1, -1, 0, 0]


# Instance, label, drawn and verdict of questions; what is skipped: open ones between answered ones, and these
QUESTIONS = {
    "the first ones": ("5 1 .3 no", "2 2 .1 yes", "9 1 .4 no", "3 2 .2 -", None),
    "the last ones": ("5 1 .3 -", "2 2 .1 yes", "9 1 .4 no", None),
    "only easy ones": ("5 1 .3 no", "2 2 .1 -", "9 1 .4 -", "3 2 .2 no", "7 2 .2 -", (2, 2)),
    "sorted by instance": ("2 2 .1 no", "3 2 .2 -", "5 1 .3 -", "9 1 .4 no", None),
    "sorted by label": ("5 1 .3 no", "9 1 .4 -", "3 2 .2 -", "2 2 .1 no", None),
    "all of one label": ("5 1 .3 no", "9 1 .4 -", "3 1 .2 no", (1, 2)),
    "an instance that is closed": ("5 1 .3 no", "2 2 .1 -", "9 1 .4 no", "2 * . no", None),
    "answered in another line": ("5 1 .3 no", "2 2 .1 -", "9 1 .4 no", "2 2 .1 no", None),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_cells_with_a_probability_of_being_drawn_are_questions_and_skipped_ones_are_counted(file, name):
    """Also if the column source is lost. The order in a sorted file does not show what was skipped."""
    *rows, skipped = QUESTIONS[name]
    lines = (f"{row}\n".replace(" . ", "  ").replace("-", "").replace(" ", "\t") for row in rows)
    path = file("instance\tlabel\tdrawn\tverdict\n" + "".join(lines))
    decisions = read([path])
    assert (decisions.skipped, decisions.is_sample.any()) == (skipped, False)
    np.testing.assert_array_equal(np.isnan(decisions.chance), decisions.label == NOTHING_ELSE)
    answers = file("instance\tlabel\tverdict\tsource\n2\t2\tyes\t\n9\t1\tno\t\n", "answers.tsv")
    assert name != "only easy ones" or read([path, answers]).skipped is None


def test_added_labels_and_closed_instances_are_no_gaps(file):
    rows = "1 7 yes suggestion", "2 7  suggestion", "2 * no suggestion", "3 7 yes suggestion", "3 8 yes added"
    path = file("# suggestions 3\n" + HEADER + "\n".join(rows).replace(" ", "\t"))
    assert read([path]).origin.tolist() == [1, 0, 1, -1]


TOLERATED = {
    "CRLF": "instance\tlabel\tverdict\tsource\r\n1\t5\tyes\tsample\r\n",
    "CR alone": "# a comment\rinstance\tlabel\tverdict\tsource\r1\t5\tyes\tsample\r",
    "a byte order mark": "\ufeff" + HEADER + "1\t5\tyes\tsample\n",
    "a byte order mark before a comment": "\ufeff# mine\n" + HEADER + "1\t5\tyes\tsample\n",
    "capitals": "Instance\tLABEL\tVerdict\tSource\n1\t5\tYES\tSample\n",
    "spaces": "instance \t label\tverdict\tsource\n 1\t5 \t yes\tsample \n",
    "another order, other columns": "note\tverdict\tsource\tlabel\tinstance\nhm\tyes\tsample\t5\t1\n",
    "empty lines": HEADER + "\n1\t5\tyes\tsample\n\t\t\t\n\n",
    "comments": "# a\n" + HEADER + '# b\n1\t5\tyes\tsample\n"# c, d"\n',
    "no last line end": HEADER + "1\t5\tyes\tsample",
    "empty fields too many": "instance\tlabel\tverdict\tsource\t\t\n1\t5\tyes\tsample\t\t\t\n",
    "twice": HEADER + "1\t5\tyes\tsample\n1\t5\tyes\tsample\n",
    "twice, once of a sample": HEADER + "1\t5\tyes\tsuggestion\n1\t5\tyes\tsample\n",
    "no source": "instance\tlabel\tverdict\n1\t5\tyes\n",
    "leading zeros": HEADER + "01\t05\tyes\tsample\n",
}


@pytest.mark.parametrize("name", TOLERATED)
def test_tolerates(file, name):
    assert cells(read([file(TOLERATED[name])])) == [(0, 5, True, True)]


def test_a_number_without_end_is_refused_in_few_words(file):
    path = file(HEADER + "9" * 5000 + "\t5\tyes\t\n")
    with refused(InputError, ":2: ") as caught:
        read([path])
    assert len(str(caught.value).removeprefix(str(path))) < 300


def test_several_files_are_one(file):
    first = file(HEADER + "1\t5\tyes\tsample\n3\t5\n")
    second = file(gzip.compress(f"# checksum {'a' * 64}\n{HEADER}1\t5\tyes\t\n2\t5\tno\t\n".encode()), "more.tsv.gz")
    decisions = read([first, second])
    assert cells(decisions) == [(0, 5, True, True), (1, 5, False, False)]
    assert (decisions.checksums, decisions.file[1], decisions.line[1]) == ((None, "a" * 64), 1, 4)


def test_labels_by_name(file):
    path = file(HEADER + "1\tsports news\tyes\t\n1\t*\tno\t\n")
    assert cells(read([path], LabelNames.of({4: ["sports news"], 9: ["7"]})))[1][1] == 4
    with refused(InputError, ":2: "):
        read([path], LabelNames.of({1: ["music"]}))


@pytest.mark.parametrize("delimiter", ["\t", ","])
def test_ids_and_names_may_begin_like_comments(file, delimiter):
    names, ids = LabelNames.of({4: ["#c"]}), RecordIds(["#0", "#1"])
    text = "# mine, and more\nid;label;verdict\n#0;#c;yes\n# theirs\n#1;#c;no\n# suggestions 1;;;\n"
    decisions = read([file(text.replace(";", delimiter))], names, ids)
    assert [cell[:3] for cell in cells(decisions)] == [(0, 4, True), (1, 4, False)]


decided = st.dictionaries(
    st.tuples(st.integers(0, 10**12 - 1), st.integers(0, 2**31 - 2)),
    st.tuples(st.sampled_from(["yes", "no", ""]), st.sampled_from(["sample", "suggestion", ""]), st.floats(0, 1)),
)


@given(decided, st.booleans(), st.none() | st.text("0123456789abcdef", min_size=64, max_size=64))
def test_what_is_written_reads_back(tmp_path_factory, decided, with_probability, checksum):
    instance, label = np.array(list(decided), np.int64).reshape(-1, 2).T
    verdict, source, probability = zip(*decided.values(), strict=True) if decided else ([], [], [])
    out = io.BytesIO()
    probability = np.array(probability) if with_probability else None
    reviewers = [f"={word} and" for word in verdict]
    of_cells = {"verdict": verdict, "source": source, "probability": probability, "reviewer": reviewers}
    write(out, instance, label, **of_cells, of="news\n1\t.svm", checksum=checksum)
    path = tmp_path_factory.getbasetemp() / "written.tsv"
    path.write_bytes(out.getvalue())
    decisions = read([path])
    answered = sorted((cell, verdict, source) for cell, (verdict, source, _) in decided.items() if verdict)
    expected = [(*cell, verdict == "yes", source == "sample") for cell, verdict, source in answered]
    assert (cells(decisions), decisions.checksums) == (expected, (checksum,))
    assert decisions.reviewer.tolist() == ["=yes and" if true else "=no and" for _, _, true, _ in expected]


WORDS = "1", "5", "*", "yes", "no", "", "sample", "#", '"', "\0", "\ufeff", " ", "9" * 30, "\ud7ff", "-1", "1e3"
fields = st.sampled_from(WORDS)
lines = st.lists(st.lists(fields, max_size=5).map("\t".join), max_size=5).map("\n".join)


@given(lines.map(lambda text: (HEADER + text).encode()) | lines.map(str.encode) | st.binary())
def test_anything_is_read_or_refused(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "any.tsv"
    path.write_bytes(content)
    try:
        decisions = read([path])
    except InputError as error:
        assert "\n" not in str(error)
    else:
        assert (decisions.instance >= 0).all()
        assert (decisions.label >= NOTHING_ELSE).all()


def test_what_two_files_contradict_each_other_about_is_left_undecided(file, caplog):
    """So is the rest of its instance, which would make the label false."""
    both = "1\t5\tyes\t\n1\t6\tyes\t\n2\t5\tno\t\n2\t6\tno\t\n2\t*\tno\t\n"
    first = file(HEADER + both + "3\t5\tyes\t\n3\t6\tyes\t\n3\t*\tno\t\n", "a.tsv")
    second = file(HEADER + both + "3\t5\tno\t\n4\t5\tno\t\n", "b.tsv")
    decisions = read([first, second])
    assert cells(decisions) == [
        (0, 5, True, False),
        (0, 6, True, False),
        (1, NOTHING_ELSE, False, False),
        (1, 5, False, False),
        (1, 6, False, False),
        (2, 6, True, False),
        (3, 5, False, False),
    ]
    [warning] = caplog.messages
    kappa = cohen_kappa_score([1, 1, 0, 0, 1], [1, 1, 0, 0, 0])
    assert f"agree on 4 of the 5 labels of instances that both decide (Cohen's kappa {kappa:.2f}); 1 are" in warning
    assert warning.endswith(f"left undecided: label 5 of instance 3: {first}:7 yes and {second}:7 no")
    caplog.clear()
    names = LabelNames.of({5: ("Topology",), 6: ("Rock",)})
    read([first, second], names, RecordIds([f"rec{i + 1}" for i in range(4)]))
    assert f"left undecided: label Topology of rec3: {first}:7 yes and {second}:7 no" in caplog.text


def test_what_both_files_have_of_one_person_is_no_agreement_of_two(file, caplog):
    head = HEADER[:-1] + "\treviewer\tprobability\n"
    first = file(head + "1\t5\tyes\t\tAnna\t0.5\n1\t6\tyes\t\tAnna\t\n2\t5\tno\t\t\t\n", "a.tsv")
    second = file(head + "1\t5\tyes\t\tAnna\t\n1\t6\tno\t\tBen\t\n2\t5\tno\t\t\t\n", "b.tsv")
    decisions = read([first, second])
    assert "agree on 1 of the 2 labels of instances that both decide" in caplog.text
    assert cells(decisions) == [(0, 5, True, False), (1, 5, False, False)]
    assert (decisions.reviewer.tolist(), decisions.probability[0]) == (["Anna", ""], 0.5)


def test_a_closed_instance_contradicts_a_label_that_another_file_adds(file, caplog):
    """Label 9 is annotated, so that closing says nothing of it."""
    first = file(HEADER + "1\t5\tyes\t\n1\t*\tno\t\n2\t5\tno\t\n2\t*\tno\t\n", "a.tsv")
    second = file(HEADER + "1\t6\tyes\t\n1\t9\tyes\t\n1\t*\tno\t\n2\t7\tno\t\n9\t*\tno\t\n", "b.tsv")
    annotated = csr_array((np.ones(1, bool), ([0], [9])), shape=(2, 10))
    decisions = read([first, second], annotated=annotated)
    kept = [(0, 9, True), (1, NOTHING_ELSE, False), (1, 5, False), (1, 7, False), (8, NOTHING_ELSE, False)]
    assert [cell[:3] for cell in cells(decisions)] == kept
    kappa = cohen_kappa_score([1, 0, 0], [0, 1, 0])
    [warning] = caplog.messages
    assert f"agree on 1 of the 3 labels of instances that both decide (Cohen's kappa {kappa:.2f}); 2 are" in warning
    assert f"label 6 of instance 1: {first}:3 * no and {second}:2 yes" in warning


@given(st.lists(st.dictionaries(st.tuples(st.integers(1, 4), st.integers(1, 3)), st.booleans()), max_size=3))
def test_all_that_no_two_files_dispute_is_read(tmp_path_factory, people):
    folder = tmp_path_factory.mktemp("people")
    paths = [folder / f"{i}.tsv" for i in range(len(people))]
    for path, verdicts in zip(paths, people, strict=True):
        lines = (f"{i}\t{k}\t{'yes' if is_true else 'no'}\t\n" for (i, k), is_true in verdicts.items())
        path.write_text(HEADER + "".join(lines))
    decisions = read(paths)
    said = {cell: {one[cell] for one in people if cell in one} for one in people for cell in one}
    kept = {(i + 1, k): is_true for i, k, is_true, _ in cells(decisions)}
    assert kept == {cell: min(words) for cell, words in said.items() if len(words) == 1}
