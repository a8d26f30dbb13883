"""The options and the help of ``mpu apply``."""

import click

from mpu_cli.cli.messages import verbosity_options
from mpu_cli.cli.options import FILE, option, reading_options, reviewed_option, runs_command
from mpu_cli.cli.printing import json_option
from mpu_cli.runtime.options import PROBABILITY
from mpu_cli.text.records import FORMATS


@click.command("apply")
@click.argument("source", metavar="RECORDS", type=FILE)
@option("-o, --output NEW", FILE, "File to write, in the format of RECORDS.", required=True)
@reviewed_option("Add the tags that this review file accepts.")
@option(
    "--suggestions MISSING.tsv", FILE, "Also add undecided suggestions of this file with at least --min-probability."
)
@option("--min-probability", PROBABILITY, "Lowest probability of added suggestions.", name="least")
@option("--yes", bool, "Add suggestions even if nobody has decided any.", name="is_sure")
@option("--remove-rejected", bool, "Remove the tags that were rejected.", name="remove")
@option("--fill-implied", bool, "Also add the broader tags that the tags of a record imply.")
@option("--data FILE", FILE, "Data file that `mpu vectorize` made of RECORDS. Default: the one beside it.")
@option("--format", FORMATS, "Format of RECORDS.  [default: by its name]", name="form")
@option("--added FIELD", str, "Field that lists the added tags; '' for none.", default="added")
@reading_options
@json_option
@verbosity_options
@runs_command
def command() -> None:
    """Write accepted tags back into RECORDS.

    RECORDS are the texts that `mpu vectorize` converted. NEW contains the same records, with the accepted tags;
    unchanged records are copied byte for byte. Records are matched by id, or by order if they have none.

    \b
    Example:
      mpu apply news.jsonl --reviewed checked.tsv -o news-new.jsonl
      mpu apply books.csv --reviewed checked.tsv --remove-rejected -o books-new.csv
      mpu apply news.jsonl --reviewed checked.tsv --suggestions more.tsv --min-probability 0.95 -o news-new.jsonl
    """
