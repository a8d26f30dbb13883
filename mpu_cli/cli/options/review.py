"""The options and the help of ``mpu review``."""

from typing import Any

import click

from mpu_cli.cli.messages import verbosity_options
from mpu_cli.cli.options import (
    FILE,
    names_options,
    numbers_option,
    option,
    reading_options,
    reviewed_option,
    run_options,
    suggestible_options,
)
from mpu_cli.runtime.options import MOST_INSTANCES, Whole


@click.command("review")
@click.argument("source", metavar="FILE", type=FILE)
@option("-o, --output PAGE", FILE, "Write the page here.", required=True)
@option(
    "--sample N",
    Whole(1, MOST_INSTANCES),
    "Review N instances drawn at random, and mark the decisions so: the label frequency can be estimated from "
    "them. A larger N keeps the instances of a smaller one.",
)
@option(
    "--suggestions MISSING.tsv",
    FILE,
    "Show these labels that may be missing. Without --sample, the instances in this file are reviewed.",
)
@reviewed_option(
    "Open the page with the decisions of this review file, such as one that was exported on another machine, or by "
    "somebody else. What the page exports then has them too, unless they were changed."
)
@option(
    "--text TEXTS",
    FILE,
    "Show the text of each instance: a file with one on each line, or .jsonl, .csv or .tsv with --text-field; "
    "also compressed. Default: the texts that `mpu vectorize` made FILE of. Without texts, an instance is shown by its "
    "heaviest features.",
)
@option(
    "--text-field NAME",
    str,
    "Field of a .jsonl, or column of a .csv or .tsv, with the text. Of several, the first one is the title.  "
    "[default: the fields that `mpu vectorize` read]",
    name="text_fields",
    multiple=True,
)
@option("--link URL", str, "Link each instance to its record: https://... with {id} in place of the record's id.")
@names_options
@suggestible_options
@numbers_option
@option("--features NAMES", FILE, "Show features by name: a text file whose line k names feature k.")
@run_options("seed", "jobs", "kernel")
@reading_options
@verbosity_options
def command(**given: Any) -> None:
    """Make a page on which people decide which labels are true.

    The page is one HTML file: open it in any browser, also without a network. It shows one instance of FILE at a time,
    its labels, and those that may be missing; keys decide. The browser stores the progress. "Export" on the page saves
    the decisions as a review file, which `mpu train --reviewed` and `mpu estimate-c --reviewed` learn from.

    FILE is a LIBSVM multi-label file, plain or compressed, or - for standard input. The instances to
    review are N drawn at random (--sample), those with suggestions (--suggestions), or all.

    \b
    Example:
      mpu review news.svm --sample 200 --text news.txt --labels tags.txt -o review.html
      mpu review news.svm --suggestions missing.tsv --text news.jsonl --text-field abstract -o review.html
      mpu review news.svm --suggestions missing.tsv --reviewed checked-Anna.tsv -o review.html
    """
    from mpu_cli.cli import review

    review.command(**given)
