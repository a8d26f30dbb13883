"""The options and the help of ``mpu vectorize``."""

from typing import Any

import click

from mpu_cli.cli.messages import verbosity_options
from mpu_cli.cli.options import FILE, encoding_option, max_line_bytes_option, option, options_as_one
from mpu_cli.cli.printing import json_option
from mpu_cli.text.analyzer import TextOptions
from mpu_cli.text.records import FORMATS, ID, SEPARATOR, TAGS, TEXT


@click.command("vectorize")
@click.argument("file", metavar="TEXTS", type=FILE)
@option(
    "-o, --output FILE",
    FILE,
    "Write the data file here, compressed if it ends in .gz, .bz2 or .xz. The vectoriser, names and ids "
    "go to a directory beside it: news.text beside news.svm.",
    required=True,
)
@option(
    "--format",
    FORMATS,
    "Format of TEXTS; annif: a document corpus of Annif (TSV, CSV or JSON lines, by its suffix; a directory is "
    "always one). Default: by the suffix of its name.",
    name="form",
)
@option(
    "--text FIELD",
    str,
    f"Field that has the text. Can be repeated: each is a line of the text, a title best first.  [default: {TEXT}]",
    multiple=True,
)
@option(
    "--tags FIELD",
    str,
    "Field that has the tags: a list of them, or one text. Can be repeated; and a field of 0 and 1 is itself a tag.  "
    f"[default: {TAGS}, or else the fields of 0 and 1, if there are several]",
    multiple=True,
)
@option("--id FIELD", str, f"Field that has the id.  [default: {ID}, if there is one]")
@option(
    "--group FIELD",
    str,
    "Field that has the name of a group of records, such as their source, year or department: "
    "news.text/groups beside news.svm is then a file for --groups.",
)
@option("--separator TEXT", str, f"Separator of tags that are one text.  [default: {SEPARATOR}]")
@encoding_option
@option(
    "--labels NAMES",
    FILE,
    "Number the labels by this file: line k has the name of label k, perhaps with further names and a URI after "
    "tabs; or a thesaurus: SKOS (.ttl, .rdf, .nt, .jsonld; extra skos), or a table of Annif (.csv). It may have labels "
    "without records. Tags that are not in it get the numbers after these.",
)
@option(
    "--language CODE",
    str,
    "Language of the names in a thesaurus, such as en; of several, such as en,de, the first is that of the main "
    "names, and the others are of further names.  [default: that of most names]",
)
@option(
    "--language-field FIELD",
    str,
    "Field that has the language of the text, such as de, ger or german.  [default: its function words tell]",
)
@option(
    "--like DATA", FILE, "Use the features, the labels and the fields of this data file, which mpu vectorize wrote."
)
@options_as_one(TextOptions)
@option("--skip-bad", bool, "Leave bad records out, and list them, instead of ending with an error.")
@max_line_bytes_option
@json_option
@verbosity_options
def command(**given: Any) -> None:
    """Make a data file of TEXTS with tags, for other commands.

    TEXTS has one record after another: JSON objects, one on each line (.jsonl, .ndjson), or a table whose first line
    names the columns (.csv, .tsv); plain or compressed; or - for standard input, with --format. It is read
    several times, so it may be larger than the memory: for its languages, to choose the features, to write the vectors.

    Features are words and pairs of neighbouring words, weighted by tf-idf. Labels are numbered from 1, the more
    frequent ones first, or by --labels. Texts without tags are instances without labels.

    The directory beside FILE, news.text beside news.svm, has the features, the names of the labels and the ids, so
    that other commands print them, and --like makes vectors of other texts for a model of FILE.

    \b
    Example:
      mpu vectorize news.jsonl --group source -o news.svm
      mpu vectorize new.jsonl --like news.svm -o new.svm
      mpu vectorize books.csv --text title --text abstract --tags subjects --labels thesaurus.txt -o books.svm
    """
    from mpu_cli.cli import vectorize

    vectorize.command(**given)
