"""``mpu vectorize``."""

from typing import TYPE_CHECKING, Any

import click

from mpu_cli.cli.messages import info, verbosity_options, warn
from mpu_cli.cli.options import FILE, is_set, max_line_bytes_option, option, options_as_one
from mpu_cli.cli.printing import json_option, print_json
from mpu_cli.cli.progress import progress
from mpu_cli.errors import counted
from mpu_cli.runtime.options import options_of
from mpu_cli.text.analyzer import TextOptions
from mpu_cli.text.records import FORMATS, ID, SEPARATOR, TAGS, TEXT

if TYPE_CHECKING:
    from mpu_cli.commands.vectorize import VectorizationReport


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
    "--tags FIELD", str, f"Field that has the tags: a list of them, or one text.  [default: {TAGS}, if there is one]"
)
@option("--id FIELD", str, f"Field that has the id.  [default: {ID}, if there is one]")
@option(
    "--group FIELD",
    str,
    "Field that has the name of a group of records, such as their source, year or department: "
    "news.text/groups beside news.svm is then a file for --groups.",
)
@option("--separator TEXT", str, f"Separator of tags that are one text.  [default: {SEPARATOR}]")
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
def vectorize(
    output: str,
    labels: str | None,
    language: str | None,
    like: str | None,
    options: TextOptions,
    as_json: bool,
    **of_source: Any,
) -> None:
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
    from mpu_cli.commands import vectorize as command
    from mpu_cli.runtime import report
    from mpu_cli.runtime.files import refuse_overlaps
    from mpu_cli.runtime.run import Run
    from mpu_cli.text.labels import is_thesaurus
    from mpu_cli.text.sidecars import directory_of

    source = command.Source(**of_source)
    if source.group is not None and directory_of(output) is None:
        raise click.UsageError("--group needs a file for -o: the names of groups are written beside it.")
    if like is not None:
        _refuse_with_like({"--labels": labels, "--language": language, "--language-field": source.language_field})
    elif language is not None and (labels is None or not is_thesaurus(labels)):
        raise click.UsageError("--language is that of the names in a thesaurus in SKOS or CSV: give one by --labels.")
    elif directory_of(output) is None:
        raise click.UsageError(
            "-o needs a file: the vectoriser, names and ids are written beside it. (With --like, - is possible.)"
        )
    if options.hashing is not None and (options.min_df, options.max_features) != (None, None):
        raise click.UsageError("--min-df and --max-features choose from a vocabulary; --hashing keeps none.")
    beside = None if directory_of(output) is None else str(directory_of(output))
    inputs = {"TEXTS": source.file, "--labels": labels, "--like": like}
    refuse_overlaps(inputs, {"--output": output, "its directory": beside}, ("its directory",))
    done = command.vectorize(
        source,
        output,
        options=None if like is not None else options,
        labels=labels,
        language=language,
        like=like,
        run=Run(observe=progress),
    )
    for bad in done.listed:
        warn(f"{source.file}:{bad.line}: left out: {bad.problem}", line=bad.line)
    if done.bad:
        warn(
            f"left out: {counted(done.bad, 'bad record')}"
            + ", the first of them listed" * (done.bad > len(done.listed))
        )
    for caution in done.cautions:
        warn(caution)
    if as_json:
        print_json(done)
    else:
        info(
            f"{counted(done.instances, 'instance')} with {counted(done.annotations, 'label')}, "
            f"{done.labels:,} different; {counted(done.features, 'feature')}; stems: {_stems(done)}"
            + f"; lead: {done.lead}"
            * (done.lead != "0"),
            **report.as_json(done),
        )


def _stems(done: "VectorizationReport") -> str:
    """Return the languages of the stems; of several, with the number of texts in each."""
    if "," not in done.stem:
        return done.stem
    of_each = {language: done.languages.get(language, 0) for language in done.stem.split(",")}
    unclear = done.instances - sum(done.languages.values())
    texts = ", ".join(f"{language} ({counted(count, 'text')})" for language, count in of_each.items())
    return f"{texts}; not clear: {unclear:,}"


def _refuse_with_like(others: dict[str, str | None]) -> None:
    """Refuse options that the earlier file sets."""
    refused = [name for name, value in others.items() if value is not None]
    refused += [f"--{name.replace('_', '-')}" for name in options_of(TextOptions) if is_set(name)]
    if refused:
        raise click.UsageError(f"--like decides that already; leave {refused[0]} out.")
