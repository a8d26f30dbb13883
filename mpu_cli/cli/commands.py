"""The options and the help of each command; `cli.actions.NAME` does the work of the command NAME.

Nothing here imports NumPy, so that help and completion come at once: actions are imported when a command runs.
"""

import re
from pathlib import Path

import click

from mpu_cli import __version__
from mpu_cli.cli.messages import json_option
from mpu_cli.cli.options import (
    FILE,
    KNOWLEDGE,
    LEARNING,
    PATH,
    Acceptance,
    CleanErrors,
    FileName,
    Group,
    Parsed,
    command,
    declared_options,
    label_features_option,
    names_options,
    option,
    reading_options,
    reviewed_option,
    run_options,
    scores_option,
    suggestible_options,
    training_files,
)
from mpu_cli.cluster import EXPECTED, Address
from mpu_cli.core.options import FrequencyOptions, Options
from mpu_cli.errors import CONTROL
from mpu_cli.experiment import method_names
from mpu_cli.runtime.options import (
    LARGEST_POSITIVE,
    LEAST_FREQUENCY,
    MOST_INSTANCES,
    PROBABILITY,
    PROPENSITY_A,
    PROPENSITY_A_RANGE,
    PROPENSITY_B,
    PROPENSITY_B_RANGE,
    Integer,
    PerLabel,
    Real,
)
from mpu_cli.svmlight.grammar import MAX_ID
from mpu_cli.text.analyzer import TextOptions
from mpu_cli.text.records import FORMATS, ID, SEPARATOR, TAGS, TEXT

_HOST = re.compile(r"[\w.-]+|[\da-fA-F.]*:[\da-fA-F.]*:[\da-fA-F:.]*", re.ASCII)  # or an IPv6 address
_cluster_option = option(
    "--cluster ADDRESS", Parsed("cluster", Address.parse), f"Use a Dask cluster: {EXPECTED}. Needs the extra `cluster`."
)


@command(
    click.Argument(["source"], metavar="RECORDS", type=FILE),
    option("-o, --output NEW", FILE, "File to write, in the format of RECORDS.", required=True),
    reviewed_option("Add the tags that this review file accepts."),
    option(
        "--suggestions MISSING.tsv",
        FILE,
        "Also add undecided suggestions of this file with at least --min-probability.",
    ),
    option("--min-probability", PROBABILITY, "Lowest probability of added suggestions."),
    option("--yes", bool, "Add suggestions even if fewer than 20 were decided."),
    option("--remove-rejected", bool, "Remove the tags that were rejected."),
    option("--fill-implied", bool, "Also add the broader tags that the tags of a record imply."),
    option("--data FILE", FILE, "Data file that `mpu vectorize` made from RECORDS. Default: the one beside it."),
    option("--format", FORMATS, "Format of RECORDS.  [default: by its name]"),
    reading_options,
    json_option,
)
def apply() -> None:
    """Write accepted tags back into RECORDS.

    RECORDS are the texts that `mpu vectorize` converted. NEW contains the same records, with the accepted tags;
    unchanged records are copied byte for byte, except for a new column of a table. Records are matched by id, or by
    order if they have none.

    \b
    Example:
      mpu apply news.jsonl --reviewed checked.tsv -o news-new.jsonl
      mpu apply books.csv --reviewed checked.tsv --remove-rejected -o books-new.csv
      mpu apply news.jsonl --reviewed checked.tsv --suggestions more.tsv --min-probability 0.95 -o news-new.jsonl
    """


@command(
    click.Argument(["source"], metavar="[IN]", default="-"),
    click.Argument(["target"], metavar="[OUT]", default="-"),
    option("--missing-rate", PROBABILITY, "Share of the labels to remove.", required=True),
    option(
        "--scheme",
        ("uniform", "label"),
        "uniform: all labels alike. label: each label at its own rate, drawn around --missing-rate.",
        default="uniform",
    ),
    option("--removed FILE", str, "Write the removed labels to FILE: lines `instance<TAB>label`."),
    option("--kept FILE", FILE, "Write the kept share of each label to FILE, for the option --c."),
    run_options("seed", "kernel"),
    reading_options,
)
def corrupt() -> None:
    """Remove labels at random, to test methods on missing labels.

    Copies the LIBSVM file IN to OUT without a random share of its labels; everything else is copied byte for byte, but
    labels written as in "1.0, +2" are written as "1,2". The default - is standard input or output. The kept share,
    the true c, is printed on standard error.

    \b
    Example:
      mpu corrupt train.svm noisy.svm --missing-rate 0.3 --seed 1 --removed removed.tsv
      mpu corrupt train.svm noisy.svm --missing-rate 0.5 --scheme label --kept c.txt
      xzcat train.svm.xz | mpu corrupt --missing-rate 0.3 | gzip > noisy.svm.gz
    """


def _list_of(name: str, kind: Real, example: str) -> Parsed:
    """Return an option type for different numbers of one kind, separated by commas."""

    def parse(text: str) -> tuple[float, ...]:
        try:
            numbers = tuple(map(kind.parse, text.split(",")))
        except ValueError as error:
            raise ValueError(f"{error}; several as in {example}") from None
        if len(set(numbers)) < len(numbers):
            raise ValueError(f"{text!r} has a number twice")
        return numbers

    return Parsed(name, parse)


@command(
    option(
        "--method",
        ("bbe", "e1", "e2", "e3"),
        "bbe: best bin (Garg et al., 2021). e1, e2, e3: Elkan and Noto (2008).",
        default="bbe",
    ),
    option("--per-label", bool, "Also report the frequency of each label."),
    option("-o, --output", PATH, "Write the label frequencies to a file for `mpu train --c`."),
    option(
        "--plan [WIDTHS]",
        _list_of("widths", Real(0.001, 1), "0.1,0.05; without numbers, --plan comes after FILE"),
        "Report how many questions or reviewed instances give intervals of c of these widths, such as 0.1,0.05.",
        is_flag=False,
        flag_value="0.2,0.1,0.05,0.02",
        default=(),
    ),
    Group("options", FrequencyOptions, declared_options(FrequencyOptions)),
    run_options("seed", "jobs", "kernel"),
    training_files(scores_option),
    json_option,
)
def estimate_c() -> None:
    """Estimate c, the share of the true labels that is annotated.

    Without --reviewed or --fully-labelled, c is estimated from the incomplete labels alone, under the assumption that
    {assumption}. Incomplete labels cannot show whether this assumption is true, and the 90 % interval of c is valid
    only if it is.

    With answers to questions (`mpu suggest --questions`), reviewed random instances (`mpu review --sample`) or a second
    file with complete labels, no such assumption is needed.

    \b
    Example:
      mpu estimate-c news.svm
      mpu estimate-c news.svm --per-label --json
      mpu estimate-c news.svm --reviewed checked.tsv
      mpu estimate-c news.svm --plan
      mpu estimate-c news.svm --scores forest-oof.txt
    """


def _least(text: str) -> tuple[str, float]:
    """Read a text such as ``micro_f1=0.6``; ValueError if it has another form."""
    name, _, number = text.partition("=")
    if not number:
        raise ValueError(f"{text!r}: give a metric and a number, such as micro_f1=0.6")
    return name, PROBABILITY.parse(number)


@command(
    click.Argument(["truth"], type=FILE),
    click.Argument(["predictions"], nargs=-1, required=True, type=FILE),
    option(
        "--metrics NAMES",
        Parsed("names", lambda text: tuple(text.split(","))),
        "Report only these metrics, separated by commas.",
    ),
    option("--per-label", bool, "Also report precision, recall and F1 per label."),
    names_options,
    option(
        "--c",
        PerLabel(LEAST_FREQUENCY, 1),
        "Label frequency of TRUTH, if its labels are incomplete: also estimate the metrics on complete labels.",
    ),
    option(
        "--k NUMBERS",
        _list_of("numbers", Integer(1, MAX_ID + 1), "1,3,5"),
        "Cut-offs of metrics at k.",
        default="1,3,5",
    ),
    option(
        "--training TRAIN.svm",
        FILE,
        "Also report propensity-scored precision and nDCG (PSP, PSnDCG), with propensities from these label counts "
        "(Jain et al., 2016).",
    ),
    option("--propensity-a", PROPENSITY_A_RANGE, "Constant A of the propensity model.", default=PROPENSITY_A),
    option("--propensity-b", PROPENSITY_B_RANGE, "Constant B of the propensity model.", default=PROPENSITY_B),
    option(
        "--threshold",
        Real(-LARGEST_POSITIVE, LARGEST_POSITIVE),
        "For scores: predict labels with at least this score.  [default: the thresholds of the model or the file, or "
        "0.5]",
    ),
    option("--calibration", bool, "For scores: report the share of true labels by score."),
    reviewed_option("Evaluate on the completely reviewed random instances of this review file, with 90 % intervals."),
    option(
        "--fail-below METRIC=NUMBER",
        Parsed("metric", _least),
        "Exit with status 3 if a metric is lower. Can be repeated.",
        multiple=True,
    ),
    reading_options,
    run_options("kernel"),
    json_option,
)
def evaluate() -> None:
    """Compare PREDICTIONS with the labels of TRUTH.

    PREDICTIONS is a model, or a file from `mpu predict` with one line per instance: labels (3,7), scores (3:0.91
    7:0.5) or both (3 3:0.91 7:0.5). Ranking metrics need scores.

    Several PREDICTIONS are compared with the first: the report contains differences with 95 % intervals, by a paired
    bootstrap of the instances, and a verdict on micro-F1, or on the first of --metrics without micro_f1. The intervals
    do not include the randomness of training.

    \b
    Example:
      mpu evaluate test.svm tags.txt
      mpu evaluate incomplete.svm tags.txt --c 0.4
      mpu evaluate test.svm scores.txt --training train.svm --k 1,3,5
      mpu evaluate incomplete.svm tags.txt --reviewed checked.tsv
      mpu evaluate test.svm old.mpu new.mpu tags.txt
      zcat part-*.svm.gz | mpu evaluate - news.mpu
    """


def methods_of(text: str) -> tuple[str, ...]:
    """Read methods separated by commas, each with its options after colons: ``mpu,mpu:levels=1:cost=30``."""
    from mpu_cli.experiment.methods import make
    from mpu_cli.runtime.run import DEFAULT_RUN

    labels = text.split(",")
    if len(set(labels)) < len(labels):
        raise ValueError("duplicate method")
    if CONTROL.search(text):
        raise ValueError("the name of a method contains a control character")
    for label in labels:
        make(label, DEFAULT_RUN)
    return tuple(labels)


@command(
    click.Argument(["sources"], metavar="FILE...", nargs=-1, required=True, type=FILE),
    option(
        "--out",
        FileName(file_okay=False, readable=False, path_type=Path),
        "Folder for results.csv, summary.md and figures. An unfinished experiment there is continued.",
        required=True,
    ),
    option(
        "--methods",
        Parsed("method[:option=value...],...", methods_of),
        f"{', '.join(method_names())}, or your own: file.py, or module:Class. Options follow after colons; "
        "tuned=True chooses the threshold on held-out training data by expected micro-F1.",
        default="mpu,br",
    ),
    option(
        "--missing-rates",
        _list_of("rate,...", Real(0, 0.999), "0,0.3,0.6"),
        "Shares of the training labels to remove.",
        default="0,0.3,0.6",
    ),
    option("--folds", Integer(2), "Cross-validation folds.", default=10),
    option("--run-folds", Integer(1), "Test on only N of the folds. Default: all."),
    option("--instances", _list_of("n,...", Integer(1), "1000,2000"), "Draw N instances at random. Default: all."),
    option(
        "--format",
        ("png", "svg", "pdf"),
        "Format of the figures; can be repeated.",
        multiple=True,
        default=("png", "svg"),
    ),
    run_options("seed", "jobs", "kernel", jobs="Training runs at the same time; -1: one per core."),
    reading_options,
)
def experiment() -> None:
    """Compare methods by cross-validation. Labels are removed from the training folds only.

    All methods learn from the same instances with the same incomplete labels and are tested on complete labels. FILEs
    are pooled.

    Results are saved after each training. If the command is interrupted, or a training fails, run it again to continue.

    \b
    Example:
      mpu experiment news.svm --methods mpu,mpu:levels=1,br --missing-rates 0,0.1,0.2,0.4 --out results
      mpu experiment news.svm --methods mpu,m3l-linear --instances 4000,8000,16000 --run-folds 1 -j 1 --out time
    """


@command(
    click.Argument(["model"], type=PATH),
    option(
        "--label NAME",
        str,
        "Also show this label: its frequency, threshold, weights and links to other labels. Can be repeated.",
        multiple=True,
    ),
    option("--top N", Integer(0), "With --label: list at most N features and links in each direction.", default=10),
    json_option,
)
def info() -> None:
    """Show what MODEL is and what it has learned about labels.

    With --label, weights are contributions to the log odds of a label: a feature's weight is that of one unit of its
    value at the first level, and a link's weight that of another label's prediction at the last level.

    \b
    Example:
      mpu info news.mpu
      mpu info news.mpu --json
      mpu info news.mpu --label "Digital television" --label Radio
      mpu info news.mpu --label 3 --top 20
    """


@command(
    click.Argument(["model"], type=PATH),
    click.Argument(["sources"], metavar="[FILE]...", nargs=-1, type=FILE),
    option("--text TEXT", str, "Predict the labels of this text instead of FILE. Can be repeated.", multiple=True),
    option("--text-format", FORMATS, "FILE contains texts in this format. Default: by its suffix."),
    option(
        "-o, --output OUT",
        FILE,
        "Output file, or directory for several FILEs. Default: standard output.",
        default="-",
        show_default=False,
    ),
    option(
        "--format",
        ("labels", "scores", "both", "jsonl", "tsv"),
        "labels: 3,7. scores: 3:0.91 7:0.5, most probable first. both: 3 3:0.91 7:0.5. jsonl, tsv: ids, label names "
        "and probabilities.",
        default="labels",
    ),
    option(
        "--top-k",
        Integer(1, MAX_ID + 1),
        "Write only the N most probable labels of each instance; for jsonl and tsv, even below the thresholds of the "
        "model.",
    ),
    option(
        "--threshold",
        PROBABILITY,
        "Write labels with at least this probability. Default: the thresholds of the model; none for scores, or for "
        "jsonl and tsv with --top-k.",
    ),
    option("--why", bool, "With --format jsonl: add the features that contribute most to each label."),
    option("--fill-implied", bool, "Also write broader labels that the predicted ones imply."),
    suggestible_options,
    _cluster_option,
    reading_options,
    run_options("jobs", "kernel"),
)
def predict() -> None:
    """Predict the labels of FILE with MODEL, one line per instance.

    FILE is a LIBSVM file, or - for standard input; its labels are ignored. A MODEL trained on data from `mpu vectorize`
    also takes texts: .jsonl, .csv or .tsv with the same fields, or --text. Predictions for several FILEs go to a
    directory OUT, each to a file with the name of its FILE.

    \b
    Example:
      mpu predict news.mpu new.svm -o tags.txt
      zcat new.svm.gz | mpu predict news.mpu - --format scores --top-k 5
      mpu predict news.mpu part-*.svm.gz -o tags/
      mpu predict news.mpu new.jsonl --format jsonl
      mpu predict news.mpu --text "Digital television starts today" --format tsv
    """


@command(
    option("-o, --output PAGE.html", PATH, "The page.", required=True),
    option("--csv FILE", PATH, "Also write the numbers of the page to FILE."),
    option("--top N", Integer(1, MOST_INSTANCES), "List the N most probable missing labels.", default=50),
    run_options("seed", "jobs", "kernel"),
    training_files(scores_option),
    json_option,
)
def report() -> None:
    """Write an HTML page about the missing labels of FILE.

    The page shows the missing share with its interval, by group (--groups) and label, the most probable missing labels,
    what reviews have changed, and how it was computed. It needs no network.

    \b
    Example:
      mpu report news.svm -o report.html
      mpu report news.svm --groups sources.txt --reviewed checked.tsv -o report.html --csv report.csv
    """


@command(
    click.Argument(["source"], metavar="FILE", type=FILE),
    option("-o, --output PAGE", FILE, "Write the page here.", required=True),
    option("--sample N", Integer(1, MOST_INSTANCES), "Review N random instances, from which c can be estimated."),
    option("--suggestions MISSING.tsv", FILE, "Show the suggestions or questions of `mpu suggest`."),
    reviewed_option("Start from the decisions of this review file."),
    option(
        "--text TEXTS",
        FILE,
        "Texts of the instances: one per line, or .jsonl, .csv or .tsv. Default: those read by `mpu vectorize`, or "
        "else the features with the largest values.",
    ),
    option(
        "--text-field NAME", str, "Field of --text to show; the first one is the title. Can be repeated.", multiple=True
    ),
    option("--link URL", str, "Link to each record: https://... with {id} in place of its id."),
    names_options,
    suggestible_options,
    option("--features NAMES", FILE, "Feature names: a file whose line k names feature k."),
    run_options("seed", "jobs", "kernel"),
    reading_options,
)
def review() -> None:
    """Create a web page where people decide about labels.

    The page is one HTML file that needs no network. It shows instances of FILE one at a time, with their labels and
    suggestions: N random instances (--sample), those with --suggestions, or all. "Export" saves the decisions as a
    review file for `--reviewed`.

    \b
    Example:
      mpu review news.svm --sample 200 --text news.txt --labels tags.txt -o review.html
      mpu review news.svm --suggestions missing.tsv --text news.jsonl --text-field abstract -o review.html
      mpu review news.svm --suggestions missing.tsv --reviewed checked-Anna.tsv -o review.html
    """


def _host_name(text: str) -> str:
    if not _HOST.fullmatch(text):
        raise ValueError(f"{text!r} is not a host name such as tags.example.org: leave out protocol, port and path")
    return text


@command(
    click.Argument(["model"], metavar="MODEL", type=PATH),
    option("--host", str, "Address to listen on; 0.0.0.0 or :: for all.", default="127.0.0.1"),
    option("--port", Integer(0, 65535), "Port; 0: any free port.", default=8000),
    option(
        "--allowed-host NAME",
        Parsed("name", _host_name),
        "Also accept requests to this host name, such as that of a proxy. Can be repeated.",
        multiple=True,
    ),
    option("--fill-implied", bool, "Also return broader labels that the predicted ones imply."),
    option("--max-bytes N", Integer(1, 1 << 30), "Largest request body, in bytes.", default=1 << 20),
    run_options("jobs", "kernel"),
)
def serve() -> None:
    """Serve the predictions of MODEL over HTTP. Needs the extra `serve`.

    MODEL is read again when it is replaced; if the new model cannot be read, the old one stays in use. There is no
    encryption or password: run the service behind a proxy.

    \b
    POST /predict   {"texts": ["..."]} or {"instances": [{"1": 0.5, "7": 1}]},
                    optional: "top": number of scores; "fill_implied": true or false
    GET  /health    status 503 if MODEL is missing or damaged, and the previous one is still in use
    GET  /          lists these paths
    /v1/projects/NAME, /v1/projects/NAME/suggest
                    for Annif's http backend; NAME is MODEL without its suffix

    Texts need a MODEL trained on data from `mpu vectorize`. On SIGTERM, SIGHUP or Ctrl-C, the service completes the
    requests in progress and ends; a second signal ends it at once. Without --quiet, each request is logged on standard
    error.

    \b
    Example:
      mpu serve news.mpu
        curl localhost:8000/predict -d '{"texts": ["Digital television starts today"]}'
      mpu serve news.mpu --allowed-host tags.example.org --log-format json
    """


@command(
    option(
        "-o, --output",
        FILE,
        "Write the list, or the filled-in data, to this file. Default: standard output.",
        default="-",
        show_default=False,
    ),
    option(
        "--format",
        ("list", "svm"),
        "list: a review file of missing labels, most probable first. svm: FILE with the missing labels filled in.",
        default="list",
    ),
    option("--top N", Integer(1, MOST_INSTANCES), "List the N most probable."),
    option("--min-probability P", PROBABILITY, "List only labels of at least this probability."),
    option("--per-instance K", Integer(1, MAX_ID + 1), "List the K most probable of each instance."),
    option("--questions N", Integer(1, MOST_INSTANCES), "Draw N yes/no questions instead; their answers estimate c."),
    option("--fill-implied", bool, "With --format svm: also fill in implied labels."),
    option("--why", bool, "Add the features that contribute most to each suggestion."),
    suggestible_options,
    # No label sets are predicted, so there is no threshold.
    Group("options", Options, [of for of in declared_options(Options) if of.name != "threshold"]),
    run_options("seed", "jobs", "kernel"),
    training_files(label_features_option, scores_option),
    json_option,
    groups={
        "Common options": "output format top min-probability per-instance questions c levels labels reviewed jobs seed "
        "json quiet help",
        "What is listed": "only exclude fill-implied why",
        "Learning": f"{LEARNING} scores",
        "Knowledge about labels": KNOWLEDGE,
        "Input and output": "implicit-values log-format verbose accept-warning",
    },
)
def suggest() -> None:
    """Find the labels that are missing from FILE.

    Trains like `mpu train`, predicts every instance by models that have not seen it, and lists labels that are not
    annotated, most probable first. The list is a review file: decide in its column `verdict`, or on the page of
    `mpu review`. Decisions in --reviewed files are learned from and not listed again.

    Without --top, --min-probability and --per-instance, it lists all labels whose addition raises the expected F1 of
    the labels of FILE.

    With --questions N, it writes N random pairs of an instance and a label instead. Decide whether each label is true:
    your answers (--reviewed, in all commands) estimate c.

    \b
    Example:
      mpu suggest news.svm --top 1000 -o missing.tsv
      mpu suggest news.svm --questions 40 -o questions.tsv
      mpu suggest news.svm --reviewed checked.tsv --top 1000 -o more.tsv
      mpu suggest news.svm --format svm -o filled.svm
      mpu suggest news.svm --scores forest-oof.txt -o missing.tsv
    """


@command(
    option("-o, --output MODEL", PATH, "Model directory. Default: FILE with the suffix .mpu."),
    Group("options", Options, declared_options(Options)),
    option("--oof FILE", PATH, "Also write out-of-fold predictions of all instances to FILE."),
    option("--history FILE", PATH, "Append a JSON line about this training to FILE."),
    Group(
        "acceptance",
        Acceptance,
        (
            option(
                "--accept-on TEST.svm",
                FILE,
                "Replace the model only if the new one is not worse on TEST.svm, which has complete labels; otherwise "
                "exit with status 3.",
            ),
            *declared_options(Acceptance),
        ),
    ),
    _cluster_option,
    run_options("seed", "jobs", "kernel"),
    training_files(label_features_option),
    json_option,
    groups={
        "Common options": "output c levels labels reviewed jobs seed json quiet help",
        "Learning": f"{LEARNING} threshold cluster",
        "Knowledge about labels": KNOWLEDGE,
        "Replacing the model": "accept-on accept-metric keep",
        "Input and output": "implicit-values oof history log-format verbose accept-warning",
    },
    epilog="FILE is a LIBSVM multi-label file, plain or compressed, or - for standard input. Several FILEs are read as "
    "one. The new model replaces an existing one only when it is complete.",
)
def train() -> None:
    """Train a model on FILE, some of whose labels may be missing.

    \b
    Example:
      mpu train news.svm                          # writes the model directory news.mpu
      mpu train news.svm.gz -o tags.mpu --c 0.4   # if you know that 40 % of the true labels are annotated
      mpu train part-*.svm.gz -o news.mpu         # learns from all of them
      mpu train news.svm --reviewed checked.tsv   # with labels verified by people; see `mpu review`
      mpu train news.svm --accept-on test.svm --keep 5     # keeps the present model if the new one is worse
    """


@command(
    click.Argument(["file"], metavar="TEXTS", type=FILE),
    option(
        "-o, --output FILE",
        FILE,
        "Data file to write. The vectoriser, names and ids go to a directory beside it: news.text beside news.svm.",
        required=True,
    ),
    option("--format", FORMATS, "Format of TEXTS; annif: a document corpus of Annif. Default: by its suffix."),
    option(
        "--text FIELD", str, f"Field with the text. Can be repeated, title first.  [default: {TEXT}]", multiple=True
    ),
    option(
        "--tags FIELD",
        str,
        "Field with the tags: a list, one text, or 0 and 1. Can be repeated.  "
        f"[default: {TAGS}, or all fields of 0 and 1]",
        multiple=True,
    ),
    option("--id FIELD", str, f"Field with the id.  [default: {ID}, if present]"),
    option("--group FIELD", str, "Field that names the group of a record, for --groups."),
    option("--separator TEXT", str, f"Separator of tags within a text.  [default: {SEPARATOR}]"),
    option(
        "--labels NAMES",
        FILE,
        "Number the labels by this file: one name per line, further names and a URI after tabs; or a thesaurus (SKOS, "
        "which needs the extra `skos`, or Annif CSV).",
    ),
    option(
        "--language CODE", str, "Language of the names in a thesaurus, such as en, or en,de with the main one first."
    ),
    option("--like DATA", FILE, "Use the features, labels and fields of this data file of `mpu vectorize`."),
    Group("options", TextOptions, declared_options(TextOptions)),
    option("--skip-bad", bool, "List bad records and leave them out, instead of ending with an error."),
    json_option,
)
def vectorize() -> None:
    """Convert TEXTS with tags into a data file.

    TEXTS contains one record per line: JSON objects (.jsonl, .ndjson), or a table with column names (.csv, .tsv);
    plain, compressed, or - for standard input. It may be larger than the memory.

    Features are words and pairs of words, weighted by tf-idf. Labels are numbered from 1, most frequent first.

    \b
    Example:
      mpu vectorize news.jsonl --group source -o news.svm
      mpu vectorize new.jsonl --like news.svm -o new.svm
      mpu vectorize books.csv --text title --text abstract --tags subjects --labels thesaurus.txt -o books.svm
    """


COMMANDS = [defined for defined in vars().values() if isinstance(defined, click.Command)]


@click.group(cls=CleanErrors, commands=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", prog_name="mpu")
def mpu() -> None:
    """Learn multi-label classifiers from data in which some labels are missing.

    Data files are in LIBSVM multi-label format, plain or compressed (.gz, .bz2, .xz, .zst), local or at URLs such as
    https://... and s3://... (extra `url`). The name - means standard input.

    \b
    Example:
      mpu train news.svm                    # writes the model directory news.mpu
      mpu predict news.mpu new.svm -o tags.txt
    """
