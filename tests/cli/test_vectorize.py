"""``mpu vectorize``: what is said, what is refused, and that the other commands take what it writes."""

import json
import shutil
import subprocess
import tempfile
import unicodedata

import pytest

from mpu_cli.text.analyzer import TextOptions
from mpu_cli.text.vectorizer import Vectorizer
from tests.cli.tables import records, write_records
from tests.cli.training import QUICK, message
from tests.folders import contents
from tests.full_disk import largest_file

TOPICS = {"Sport": "the team won a match in the league", "Politics": "the minister spoke in parliament about a law"}


@pytest.fixture
def news(tmp_path):
    texts = [(i, *topic) for i in range(40) for topic in TOPICS.items()]
    rows = ({"id": f"{topic}{i}", "text": f"{text} {i % 7}x", "tags": [topic]} for i, topic, text in texts)
    return write_records(tmp_path / "news.jsonl", rows)


def test_data_of_another_vectoriser_are_refused(run, news, tmp_path):
    """Their features have other numbers, which the model would take for its own."""
    run.ok("vectorize", news, "-o", tmp_path / "news.svm")
    run.ok("train", tmp_path / "news.svm", *QUICK)
    others = (other | {"text": f"another {other['text']}"} for other in records(news.read_text()))
    texts, new, model = write_records(tmp_path / "new.jsonl", others), tmp_path / "new.svm", tmp_path / "news.mpu"
    run.ok("vectorize", texts, "-o", new)
    for command in (("predict", model, new, "-o", tmp_path / "out"), ("evaluate", new, model)):
        result = run(*command)
        assert (result.exit_code, (tmp_path / "out").exists()) == (1, False)
        message(result)
    run.ok("vectorize", texts, "--like", tmp_path / "news.svm", "-o", new)
    run.ok("predict", model, new, "-o", tmp_path / "out")
    manifest = tmp_path / "new.text" / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"mpu_version": "0.0.1"}))
    run.ok("predict", model, new, "-o", tmp_path / "out")  # another version made the same numbers
    (tmp_path / "new.text" / "features").write_text("damaged\n")
    run.ok("predict", model, new, "-o", tmp_path / "out")  # a damaged vectoriser tells nothing
    new.write_text(new.read_text() + "\n")  # what the directory beside them tells is of other data
    run.ok("predict", model, new, "-o", tmp_path / "out")


def test_the_first_of_several_fields_is_the_title(run, tmp_path):
    body = "the minister spoke in parliament about a law and the next one " * 5
    rows = ({"title": f"A law - number {i}", "body": body, "tags": ["Politics"]} for i in range(5))
    path = write_records(tmp_path / "titles.jsonl", rows)
    command = ["vectorize", path, "--text", "title", "--text", "body", "-o", tmp_path / "news.svm"]
    assert run(*command).stderr.splitlines()[-1].endswith("; lead: line")
    assert run.json(*command)["lead"] == "line"


def test_records_without_the_field_of_tags(run, news, tmp_path):
    news.write_text(news.read_text().replace('"tags"', '"subjects"'))
    result = run("vectorize", news, "-o", tmp_path / "news.svm")
    assert "nothing to learn: there is no field 'tags', and --tags names the one that has them" in result.stderr
    assert "there are 'id', 'text', 'subjects'" in result.stderr
    assert run("vectorize", news, "--tags", "subjects", "-o", tmp_path / "news.svm").stderr.count("warning") == 0
    misspelt = "--tags", "subjects", "--tags", "subject", "-o", tmp_path / "news.svm"
    assert "'subject' here" in message(run("vectorize", news, *misspelt))
    like = "--like", tmp_path / "news.svm", "-o", tmp_path / "new.svm"
    assert "nothing to learn" not in run("vectorize", news, *like, "--tags", "text").stderr


def test_a_bad_record_leaves_all_as_it_was_or_is_listed(run, news, tmp_path):
    run.ok("vectorize", news, "-o", tmp_path / "a.svm")
    with news.open("a") as file:
        file.write("{}\n" + "what\n" * 30)
    before = contents(tmp_path)
    assert "news.jsonl:81: " in message(run("vectorize", news, "-o", tmp_path / "a.svm"))
    assert contents(tmp_path) == before
    result = run.ok("vectorize", news, "-o", tmp_path / "a.svm", "--skip-bad", "-q", "--json")
    assert (tmp_path / "a.svm").read_bytes() == before["a.svm"]
    report, lines = json.loads(result.stdout), result.stderr.splitlines()
    assert (report["instances"], report["bad"]) == (80, 31)
    assert lines[0].startswith(f"warning: {news}:81: left out: ")
    assert len(lines) == 21
    news.write_text("what\n" + news.read_text())
    assert "--skip-bad" in message(run("vectorize", news, "-o", tmp_path / "a.svm"))
    assert lines[-1] == f"warning: left out: 31 bad records, the first of them listed [mpu vectorize {news}]"


def test_texts_of_rare_words_have_no_features(run, tmp_path):
    texts = write_records(tmp_path / "a.jsonl", ({"text": f"rare{i}", "tags": ["Art"] * (i % 2)} for i in range(100)))
    result = run.ok("vectorize", texts, "-o", tmp_path / "a.svm")
    assert "100 texts without any known word; --min-df 1 keeps words of a single text" in result.stderr
    assert "mpu vectorize found no known word in any text" in run.ok("train", tmp_path / "a.svm", *QUICK).stderr


def test_all_lines_of_a_bad_record_are_counted(run, tmp_path):
    (tmp_path / "a.csv").write_text('text,tags\n"a law,x\nb,y\n"Art" book,z\n"a\nb"\nart,x\n"end,x\n')
    said = run.ok("vectorize", tmp_path / "a.csv", "--skip-bad", "-o", tmp_path / "a.svm").stderr
    assert all(part in said for part in ("lines 2 to 4", "lines 5 to 6", "left out: 3 bad records on 6 lines"))


def test_options_reach_the_vectoriser(run, news, tmp_path):
    options = ["--analyzer", "word", "--ngrams", "2-3", "--stem", "none", "--lead", 3]
    run.ok("vectorize", news, "-o", tmp_path / "a.svm", *options, "--min-df", 5, "--max-features", 6)
    assert Vectorizer.load(tmp_path / "a.text").options_ == TextOptions("word", (2, 3), "none", 3, 5, 6)


def test_a_pipe_of_commands(run, news, tmp_path, monkeypatch):
    run("vectorize", news, "-o", tmp_path / "news.svm")
    new = b"text,tags\nthe league,Sport\n"
    like = ("--like", tmp_path / "news.svm", "-o")
    assert run.ok("vectorize", "-", "--format", "csv", *like, "-", stdin=new).stdout.count("\n") == 1
    assert not (tmp_path / "-.text").exists()
    run.ok("vectorize", news, *like, "/dev/null")
    run.ok("vectorize", "-", "--format", "jsonl", "-o", tmp_path / "again.svm", stdin=news.read_bytes())
    assert (tmp_path / "again.svm").read_bytes() == (tmp_path / "news.svm").read_bytes()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "news.text"))
    with largest_file(10):  # not even the copy of standard input
        message(run("vectorize", "-", "--format", "csv", *like, "x", stdin=new))


def test_any_tag_is_a_name(run, tmp_path):
    """In a file of other people, such a line would be a web page, RDF, or a number and a name."""
    tags = "<html>", "@prefix x", "<?xml", "7\tx", "<a> <b>"
    write_records(tmp_path / "a.jsonl", ({"text": f"{tag} {i}x", "tags": [tag]} for i in range(5) for tag in tags))
    run.ok("vectorize", tmp_path / "a.jsonl", "-o", tmp_path / "a.svm")
    run.ok("train", tmp_path / "a.svm", *QUICK, "--c", 1)


@pytest.mark.parametrize("first", ["NFC", "NFD"])
def test_an_accent_may_be_a_character_of_its_own(run, tmp_path, first):
    """Such tags look the same, and are one label: its name is in NFC, or as in the file of names."""
    other = {"NFC": "NFD", "NFD": "NFC"}[first]
    name, same = (unicodedata.normalize(form, "Caf\u00e9") for form in (first, other))
    write_records(tmp_path / "a.jsonl", ({"text": "a cup", "tags": tags} for tags in ([name], [same, "x"], [same], [])))
    assert run.json("vectorize", tmp_path / "a.jsonl", "-o", tmp_path / "a.svm")["labels"] == 2
    assert (tmp_path / "a.text" / "labels").read_text() == "Caf\u00e9\nx\n"
    (tmp_path / "names").write_text(f"x\n{same}\n")
    report = run.json("vectorize", tmp_path / "a.jsonl", "--labels", tmp_path / "names", "-o", tmp_path / "a.svm")
    assert (report["labels"], report["annotations"], report["warnings"]) == (2, 4, [])
    assert (tmp_path / "a.text" / "labels").read_text() == f"x\n{same}\n"
    assert [line.partition(" ")[0] for line in (tmp_path / "a.svm").read_text().splitlines()] == ["2", "1,2", "2", ""]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('text,tags\na,"x, y"\nb,"z, x"\n', "no ';' is in the tags of 2 records, and ',' is in 2: "),
        ("text,tags\na,x y\nb,x\nc,y\n", "such as 'x y': if blanks separate these, --separator ' '"),
        ('text,tags\na,"x, y"\nb,x\nc,y\nd,y\n', "such as 'x, y': if commas separate these, --separator ,"),
        ('text,tags\na,"x y\nz"\nb,"z\nx"\n', "and '\\n' is in 2: if that separates them, --separator $'\\n'"),
        ("text,tags\na,x\uff0cy\nb,y\nc,y\uff0cz\n", "--separator '\uff0c'"),
        (
            "text,tags\na,x / y;y\nb,x;y / x\n",
            "2 tags made of others, such as 'x / y': if slashes separate these, --separator /",
        ),
        ('text,tags\na,"[Art, Law]"\nb,[Law]\nc,\nd,x\n', "2 tags in brackets, such as '[Art, Law]': "),
        ("text,tags\na,Law &amp; Order;R&D;AT&T\n", "1 tag cut within an HTML entity, such as 'Law &amp': "),
        ("text,tags\na,0 1\nb,1 1\n", "the only tags are 0 and 1"),
        ("text,tags\na,nan\nb,[None];N/A;x\nc,nan\n", "are labels: 'nan' (2), 'N/A' (1), '[None]' (1); leave"),
        ("text,tags\na,\nb,\n", "no record has tags, so there is nothing to learn: the field 'tags' is empty"),
        (
            "text,x,y,n\na,0,1,\nb,1,1,\n",
            "2 fields of 0 and 1, each read as a tag: x, y; not read: n; --tags names others",
        ),
    ],
)
def test_what_the_tags_look_like_is_said(run, tmp_path, text, words):
    (tmp_path / "a.csv").write_text(text)
    assert words in run("vectorize", tmp_path / "a.csv", "--analyzer", "char", "-o", tmp_path / "a.svm").stderr


def test_named_fields_of_0_and_1_are_tags_without_a_warning_unless_others_are_named(run, tmp_path):
    (tmp_path / "a.csv").write_text("text,0,1,n\na law,0,1,\na match,1,1,b;c\n")
    command = "vectorize", tmp_path / "a.csv", "--tags", "0", "--tags", "1", "-o", tmp_path / "a.svm"
    report, others = run.json(*command), run(*command, "--tags", "n")
    assert (report["labels"], report["warnings"]) == (2, [])
    assert "a field of 0 and 1 is itself a tag only if --tags names only such fields" in others.stderr


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.skipif(shutil.which("jq") is None, reason="the message names jq")
def test_the_command_in_a_message_makes_records_of_an_array(run, tmp_path, monkeypatch, indent):
    monkeypatch.chdir(tmp_path)
    value = [{"text": "a law", "tags": ["x"]}, {"text": "a match", "tags": []}]
    (tmp_path / "a.json").write_text(json.dumps(value, indent=indent))
    command = message(run("vectorize", "a.json", "-o", "a.svm")).partition("convert it: ")[2]
    subprocess.run(command, shell=True, check=True)
    assert run.json("vectorize", "lines.jsonl", "-o", "a.svm")["annotations"] == 1
