"""The options and the help of ``mpu vectorize``."""

import click

from mpu_cli.cli.messages import verbosity_options
from mpu_cli.cli.options import FILE, encoding_option, max_line_bytes_option, option, options_as_one, runs_command
from mpu_cli.cli.printing import json_option
from mpu_cli.text.analyzer import TextOptions
from mpu_cli.text.records import FORMATS, ID, SEPARATOR, TAGS, TEXT


@click.command("vectorize")
@click.argument("file", metavar="TEXTS", type=FILE)
@option(
    "-o, --output FILE",
    FILE,
    "Data file to write. The vectoriser, names and ids go to a directory beside it: news.text beside news.svm.",
    required=True,
)
@option(
    "--format", FORMATS, "Format of TEXTS; annif is a document corpus of Annif. Default: by its suffix.", name="form"
)
@option("--text FIELD", str, f"Field with the text. Can be repeated, title first.  [default: {TEXT}]", multiple=True)
@option(
    "--tags FIELD",
    str,
    f"Field with the tags: a list, one text, or 0 and 1. Can be repeated.  [default: {TAGS}, or all fields of 0 and 1]",
    multiple=True,
)
@option("--id FIELD", str, f"Field with the id.  [default: {ID}, if present]")
@option("--group FIELD", str, "Field that names the group of a record, for --groups.")
@option("--separator TEXT", str, f"Separator of tags within a text.  [default: {SEPARATOR}]")
@encoding_option
@option(
    "--labels NAMES",
    FILE,
    "Number the labels by this file: one name per line, further names and a URI after tabs; or a thesaurus (SKOS, "
    "extra skos; Annif CSV).",
)
@option("--language CODE", str, "Language of the names in a thesaurus, such as en, or en,de with the main one first.")
@option("--language-field FIELD", str, "Field with the language of the text. Default: recognised by function words.")
@option("--like DATA", FILE, "Use the features, labels and fields of this data file of `mpu vectorize`.")
@options_as_one(TextOptions)
@option("--skip-bad", bool, "List bad records and leave them out, instead of ending with an error.")
@max_line_bytes_option
@json_option
@verbosity_options
@runs_command
def command() -> None:
    """Convert TEXTS with tags into a data file.

    TEXTS contains one record per line: JSON objects (.jsonl, .ndjson), or a table with column names (.csv, .tsv);
    plain, compressed, or - for standard input. It is read several times and may be larger than the memory.

    Features are words and pairs of words, weighted by tf-idf. Labels are numbered from 1, most frequent first.

    \b
    Example:
      mpu vectorize news.jsonl --group source -o news.svm
      mpu vectorize new.jsonl --like news.svm -o new.svm
      mpu vectorize books.csv --text title --text abstract --tags subjects --labels thesaurus.txt -o books.svm
    """
