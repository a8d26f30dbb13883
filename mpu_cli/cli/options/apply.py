"""The options and the help of ``mpu apply``."""

from typing import Any

import click

from mpu_cli.cli.messages import verbosity_options
from mpu_cli.cli.options import FILE, option, reading_options, reviewed_option
from mpu_cli.cli.printing import json_option
from mpu_cli.runtime.options import PROBABILITY
from mpu_cli.text.records import FORMATS


@click.command("apply")
@click.argument("source", metavar="RECORDS", type=FILE)
@option(
    "-o, --output NEW", FILE, "Write the records here, in the format of RECORDS; compressed by suffix.", required=True
)
@reviewed_option("Add the tags decided yes in this review file.")
@option(
    "--suggestions MISSING.tsv",
    FILE,
    "Also add tags that `mpu suggest` suggests with at least --min-probability, unless they are decided.",
)
@option("--min-probability", PROBABILITY, "Least probability of the suggestions that are added.", name="least")
@option("--yes", bool, "Add suggestions although nobody has decided any.", name="is_sure")
@option("--remove-rejected", bool, "Remove the tags that are decided no.", name="remove")
@option(
    "--fill-implied",
    bool,
    "Add the broader tags that the tags of a record imply, by the thesaurus that `mpu vectorize --labels` has "
    "read, unless they are decided no.",
)
@option(
    "--data FILE",
    FILE,
    "The data file that `mpu vectorize` made of RECORDS, which the decisions number.  [default: the one beside "
    "RECORDS]",
)
@option("--format", FORMATS, "Format of RECORDS.  [default: by its name]", name="form")
@option("--added FIELD", str, "Field, or column, that lists the tags that are new; '' for none.", default="added")
@reading_options
@json_option
@verbosity_options
def command(**given: Any) -> None:
    """Write accepted tags back into RECORDS.

    RECORDS are the texts with tags that `mpu vectorize` made a data file of. NEW has the same records, in the same
    order, with the tags that people have accepted. All other fields stay as they are, and records that do not change
    are not touched. Records are matched by their ids or, where they have none, by their order. So RECORDS may have
    changed in the meantime if they have ids.

    \b
    Example:
      mpu apply news.jsonl --reviewed checked.tsv -o news-new.jsonl
      mpu apply books.csv --reviewed checked.tsv --remove-rejected -o books-new.csv
      mpu apply news.jsonl --reviewed checked.tsv --suggestions more.tsv --min-probability 0.95 -o news-new.jsonl
    """
    from mpu_cli.cli import apply

    apply.command(**given)
