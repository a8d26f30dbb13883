"""``mpu apply``."""

from typing import Any

import click

from mpu_cli.cli.messages import info, verbosity_options, warn
from mpu_cli.cli.options import FILE, option, reading_options, reviewed_options
from mpu_cli.cli.printing import json_option, print_json
from mpu_cli.errors import counted
from mpu_cli.runtime.options import PROBABILITY
from mpu_cli.svmlight.grammar import Reading
from mpu_cli.text.records import FORMATS


@click.command("apply")
@click.argument("source", metavar="RECORDS", type=FILE)
@option(
    "-o, --output NEW", FILE, "Write the records here, in the format of RECORDS; compressed by suffix.", required=True
)
@reviewed_options("Add the tags decided yes in this review file.")
@option(
    "--suggestions MISSING.tsv",
    FILE,
    "Also add tags that `mpu suggest` suggests with at least --min-probability, unless they are decided.",
)
@option("--min-probability", PROBABILITY, "Least probability of the suggestions that are added.", name="least")
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
def apply(
    source: str,
    output: str,
    data: str | None,
    form: str | None,
    added: str,
    reading: Reading,
    as_json: bool,
    **of_accepted: Any,
) -> None:
    """Write accepted tags back into RECORDS.

    RECORDS are the texts with tags that `mpu vectorize` made a data file of. NEW has the same records, in the same
    order, with the tags that people accepted. All other fields stay as they are, and records that do not change
    are not touched. Records are matched by their ids or, where they have none, by their order. So RECORDS may have
    changed in the meantime if they have ids.

    \b
    Example:
      mpu apply news.jsonl --reviewed checked.tsv -o news-new.jsonl
      mpu apply books.csv --reviewed checked.tsv --remove-rejected -o books-new.csv
      mpu apply news.jsonl --suggestions missing.tsv --min-probability 0.95 -o news-new.jsonl
    """
    from dataclasses import asdict

    from mpu_cli.commands import apply as command
    from mpu_cli.runtime.files import refuse_overlaps

    accepted = command.Accepted(**of_accepted)
    if not accepted.reviewed and accepted.suggestions is None and not accepted.fill_implied:
        raise click.UsageError("Give --reviewed CHECKED.tsv, or --suggestions MISSING.tsv with --min-probability.")
    if (accepted.suggestions is None) != (accepted.least is None):
        raise click.UsageError("--suggestions and --min-probability belong together.")
    inputs = {"RECORDS": source, "--suggestions": accepted.suggestions, "--data": data}
    inputs |= {f"--reviewed {file}": file for file in accepted.reviewed}
    refuse_overlaps(inputs, {"--output": output})
    done = command.apply(source, output, accepted, data=data, form=form, added_field=added, reading=reading)
    for warning in done.warnings:
        warn(warning)
    if as_json:
        print_json(done)
    else:
        parts = ", ".join(f"{n:,} {of}" for of in ("decided", "suggested", "implied") if (n := getattr(done, of)))
        info(
            f"{counted(done.records, 'record')}, {done.changed:,} of them changed: {counted(done.added, 'tag')} added"
            f"{parts and f' ({parts})'}, {done.removed:,} removed",
            **asdict(done),
        )
