"""Classes of commands and options, the options shared by several commands, and checks of the files they name.

Kinds of values are built from `mpu_cli.runtime.options`. An `MpuError` is printed here.
"""

import os
import re
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from inspect import getdoc
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from mpu_cli.cli import messages
from mpu_cli.core.options import ASSUMPTION
from mpu_cli.errors import STANDARD_STREAM, DataError, FilesError, InputError, MpuError, shown
from mpu_cli.names.naming import Naming, Suggestible
from mpu_cli.runtime import signals
from mpu_cli.runtime.files import STDIN, STDOUT, Named, each_named, identity_of
from mpu_cli.runtime.options import Integer, Kind, declared, options_of
from mpu_cli.runtime.run import Run
from mpu_cli.svmlight.grammar import Reading
from mpu_cli.svmlight.streams import STANDARD_OUTPUT, as_one, pair_of, refuse_unreadable
from mpu_cli.text.records import is_of_corpus

# Environment variables that are whole numbers, and the least and largest value of each.
_NUMBERS = {"SOURCE_DATE_EPOCH": (0, 253_402_300_799), "NUMBA_NUM_THREADS": (1, 100_000)}
_STANDARD_INPUT = (STANDARD_STREAM, "/dev/stdin", "/dev/fd/0")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+:)(//?)")
# Arguments and options with data, beside which a command finds other files.
_DATA = {"FILE", "IN", "--data", "--like", "--accept-on"}
_MANIFEST = "manifest.json"  # of a model, and of the directory beside vectorized texts
_File = tuple[str, str]  # the name of its argument or option, and its path


@contextmanager
def _reported_failures() -> Iterator[None]:
    """Print an error that a user can fix in one line, and exit. Without arguments, click prints the help."""
    try:
        yield
    except click.exceptions.NoArgsIsHelpError:
        raise
    except click.UsageError as error:
        signals.too_late()
        messages.wrong_usage(error)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        sys.exit(128 + signal.SIGPIPE)  # as for a process that this signal ends
    except DataError as error:  # the code that raises it knows arrays, and no files
        files = messages.arguments().get("file")
        fail(str(InputError(as_one(files), str(error)) if files else error))
    except MpuError as error:
        fail(str(error), error.exit_status)
    except OSError as error:
        fail(f"{error.filename}: {error.strerror}" if error.filename else error.strerror or str(error))
    except MemoryError as error:
        fail(f"out of memory: {error}" if str(error) else "out of memory")
    except RuntimeError as error:
        if str(error) != signals.NO_THREAD:
            raise
        fail(signals.LIMIT_OF_THREADS)


class CleanErrors(click.Group):
    """A group of commands. A failure that a user can fix prints one line on standard error and exits with a status.

    docs/guide/formats.md, "Exit codes", lists these. `mpu_cli.runtime.signals` handles signals.
    """

    @_reported_failures()
    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run as click does. The steps before the command (help, completion) can fail too."""
        return super().main(*args, **kwargs)

    @_reported_failures()
    def make_context(self, info_name: str | None, args: list[str], *rest: Any, **kwargs: Any) -> click.Context:
        """Read the options of the group, and ``mpu help train`` as ``mpu train --help``.

        Click itself would exit with status 1 if the reader of the help has closed the pipe.
        """
        messages.reset(args)
        if args[:1] == ["help"]:
            args = [*args[1:], "--help"]
        return super().make_context(info_name, args, *rest, **kwargs)

    @_reported_failures()
    def invoke(self, ctx: click.Context) -> Any:
        """Run the subcommand. Turn errors that a user can fix into a message and an exit status."""
        for name, (least, largest) in _NUMBERS.items():  # otherwise a library that reads it raises a traceback
            text = os.environ.get(name)
            if text is not None and not (text.isascii() and text.isdigit() and least <= int(text[:20]) <= largest):
                raise MpuError(
                    f"the environment variable {name} is {text[:20]!r}; unset it, or give a whole number from "
                    f"{least} to {largest}"
                )
        return super().invoke(ctx)


def fail(message: str, status: int = 1) -> NoReturn:
    """Print an error in one line, and exit."""
    signals.too_late()
    messages.error(message)
    sys.exit(status)


class FileName(click.Path):
    """The name of a file or folder, never empty, or a standard stream. The code that opens it checks its kind."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the name; a usage error if it is empty, or a standard stream without `allow_dash`."""
        if not str(value):
            self.fail("the name is empty; if it comes from a shell variable, set the variable", param, ctx)
        name = super().convert(value, param, ctx)
        if str(name) == STANDARD_STREAM and not self.allow_dash:
            self.fail("a standard stream is not possible here; give a name", param, ctx)
        return name


# A text, which may be - for a standard stream, and a Path; whether they are readable shows when they are opened.
FILE = FileName(allow_dash=True, readable=False)
PATH = FileName(path_type=Path, readable=False)


def option(written: str, kind: Any, help: str, *, default: Any = None, **how: Any) -> click.Option:
    """Return an option, written as in the help, such as ``-o, --output FILE``; its default is shown.

    `kind`: the kind or type of its values, the allowed words, or bool for a flag.
    """
    *shorter, last = written.split(", ")
    longest, _, metavar = last.partition(" ")
    if kind is bool:
        how["is_flag"] = True
    elif isinstance(kind, Kind):
        how["type"] = Parsed(kind.written, kind.parse, kind.words)
        help += kind.of_file + f"  [{kind.range}]" * bool(kind.range and not kind.words)
    else:
        how["type"] = click.Choice(kind) if isinstance(kind, tuple) else kind
    if default is not None:
        how |= {"default": default, "show_default": how.get("show_default", default != ())}
    return click.Option([*shorter, longest], help=help, metavar=metavar or None, **how)


def declared_options(declaration: type) -> list[click.Option]:
    """Return the options that a dataclass declares."""
    return [
        option(
            f"-{of.letter}, " * bool(of.letter) + f"--{of.name.replace('_', '-')}",
            of.kind,
            of.help,
            default=of.written_default,
        )
        for of in options_of(declaration).values()
    ]


class Group(NamedTuple):
    """Options that form one argument of a command: `make` is called with their values, by their names."""

    name: str
    make: Callable[..., Any]
    options: Sequence[click.Parameter]


def command(*declared: click.Parameter | Group, **how: Any) -> Callable[[Callable[[], None]], click.Command]:
    """Return a decorator that turns a function, whose docstring is the help, into a command.

    In the help, ``{assumption}`` becomes that of every estimate of c from annotations alone.
    The function `command` in the module of that name does the work; the module is imported when the command runs.
    """
    groups = [of for of in declared if isinstance(of, Group)]
    cls = GroupedCommand if "groups" in how else click.Command
    options = [option for of in declared for option in (of.options if isinstance(of, Group) else (of,))]
    first = next(of for of in options if isinstance(of, click.Argument))

    def decorate(help: Callable[[], None]) -> click.Command:
        def run(**given: Any) -> Any:
            if first.type is FILE and not given.get("history"):  # before slow imports; train adds failures to a history
                files = [given[first.name]] if first.nargs == 1 else given[first.name]
                refuse_unreadable(file for file in files if not Path(file).exists())
            if messages.reports_are_json() and str(given.get("output")) in STANDARD_OUTPUT:
                raise click.UsageError("Standard output takes the report of --json: give -o a file.")
            for group in groups:
                given[group.name] = group.make(**{option.name: given.pop(option.name) for option in group.options})
            try:
                action = import_module(f"mpu_cli.cli.actions.{help.__name__}")
            except ModuleNotFoundError as error:
                if help.__name__ != "serve":
                    raise
                package = str(error.name).partition(".")[0]
                raise MpuError(
                    f"the package {package} is not installed: run pip install '.[serve]' in a copy of mpu's source"
                ) from None
            return action.command(**given)

        name = help.__name__.replace("_", "-")
        text = str(getdoc(help)).replace("{assumption}", ASSUMPTION)
        return cls(name, callback=run, params=[*options, *messages.MESSAGE_OPTIONS], help=text, **how)

    return decorate


class GroupedCommand(click.Command):
    """A command whose help shows its options in groups.

    `groups`: the options of each group, as long names.
    """

    def __init__(self, *args: Any, groups: Mapping[str, str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.groups = {title: names.split() for title, names in groups.items()}

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the groups."""
        records = {max(param.opts, key=len): param.get_help_record(ctx) or ("", "") for param in self.get_params(ctx)}
        for title, names in self.groups.items():
            with formatter.section(title):
                formatter.write_dl([records[f"--{name}"] for name in names])


# Option groups of train and suggest.
LEARNING = "loss features cost eta0 epochs folds same-fold sample kernel"
KNOWLEDGE = "groups fully-labelled implied zero-based label-features prior"


class Parsed(click.ParamType):
    """A value parsed from a text by a function, whose error explains a bad text. Shells complete the words."""

    def __init__(self, name: str, parse: Callable[[str], Any], words: tuple[str, ...] = ()) -> None:
        self.name, self.parse, self.words = name, parse, words

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Parse a text; return a default unchanged."""
        try:
            return self.parse(value) if isinstance(value, str) else value
        except (ValueError, MpuError) as error:
            self.fail(str(error), param, ctx)

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str | None:
        """Show words as click shows a choice."""
        return f"[{self.name}]" if self.words else None

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Complete the words."""
        return [CompletionItem(word) for word in self.words if word.startswith(incomplete)]


def refuse_set(names: Iterable[str], problem: str) -> None:
    """Raise UsageError if the user has set one of some parameters; its option replaces {} in the message."""
    context = click.get_current_context()
    for param in context.command.params:
        if param.name in names and context.get_parameter_source(param.name) is not ParameterSource.DEFAULT:
            raise click.UsageError(problem.format(max(param.opts, key=len)))


def refuse_overlaps(inputs: Named, outputs: Named, replaced: Named | None = None) -> None:
    """Refuse files if one would overwrite another, also by another name or a link. Call this before opening any.

    `inputs`, `outputs`: files and directories keyed by argument or option name; ``-`` is a standard stream.
    `replaced`: outputs, keyed likewise, that are directories and replaced as a whole.
    Raises FilesError (an output is read by the command or is another output, is in a directory that is read or
    replaced, or is a URL; or two inputs are the same stream, two FILEs the same file, or test data are learned from);
    MpuError as for `identity_of`.
    """
    sources, targets, folders = (
        [one for one in each_named(files) if one[1] != os.devnull] for files in (inputs, outputs, replaced or {})
    )
    read = _read(sources)
    written: dict[Any, _File] = {}
    for name, path in (*targets, *folders):
        _refuse_url(name, path)
        identity = identity_of(path, STDOUT)
        if first := written.get(identity or path):
            other, place = first
            raise FilesError(f"{other} and {name} are both {shown(place, 'output')}; give one of them another name")
        written[identity or path] = name, path
        if found := read.get(identity):
            same = f"the same {'directory' if Path(path).is_dir() else 'file'}, {shown(path, 'output')}"
            raise FilesError(f"{name} and {found[0]} are {same}; give {_option_of(name)} another name")
    holders = read | {identity_of(path, STDOUT): (name, path) for name, path in folders}
    for name, path in targets:
        real = Path(os.path.realpath(path))
        for folder in real.parents if path != STANDARD_STREAM else ():
            if (found := holders.get(identity_of(str(folder), STDIN))) and not _is_ignored_by_corpus(real, folder):
                holder, place = found
                raise FilesError(f"{name}, {path}, lies in {holder}, {place}; give {_option_of(name)} another place")


def _option_of(name: str) -> str:
    """Return the option in the name of an output, such as ``the list beside --output``; without one, the argument."""
    return next((word for word in name.split() if word.startswith("--")), name)


def _is_ignored_by_corpus(path: Path, folder: Path) -> bool:
    """Return whether a directory is one of documents, which is read without this file."""
    return _is_corpus(folder) and not (path.parent == folder and is_of_corpus(path))


def _is_corpus(path: Path) -> bool:
    return path.is_dir() and not (path / _MANIFEST).exists()


def _refuse_url(name: str, path: str) -> None:
    scheme = _SCHEME.match(path)
    if scheme and (scheme[2] == "//" or not Path(scheme[0]).exists()):  # a Path keeps only one of two slashes
        url = shown(f"{scheme[1]}//{path.removeprefix(scheme[0])}")
        raise FilesError(f"{name}, {url}, is a URL, but output goes to local files; write one and copy it")


def _read(sources: list[_File]) -> dict[Any, _File]:
    """Return all files that are read, by identity; FilesError if one must not be read a second time."""
    read: dict[Any, _File] = {}
    for name, path in (found for source in sources for found in _read_with(*source)):
        identity = identity_of(path, STDIN) or (STANDARD_STREAM if path in _STANDARD_INPUT else path)
        if identity in read:
            other, place = read[identity]
            if name.startswith("FILE ") and other.startswith("FILE "):  # several, read together or in turn
                same = shown(path) if place == path else f"{shown(place)} and {shown(path)}, the same file,"
                raise FilesError(f"FILE: {same} may be named once only")
            if _is_stream(path) and _is_stream(place):
                raise FilesError(f"{other} and {name} are both {shown(path, 'input')}, which can be read only once")
            if name == "--accept-on":
                raise FilesError(f"{other} and {name} are the same file, {path}; leave test data out of the training")
        read.setdefault(identity, (name, path))
    return read


def _is_stream(path: str) -> bool:
    return path in _STANDARD_INPUT or Path(path).is_fifo()


def _read_with(name: str, path: str) -> Iterator[_File]:
    """Yield an input, and all files that may be read with it."""
    yield name, path
    if _is_corpus(Path(path)):
        yield from ((f"a file of {name}", str(file)) for file in Path(path).glob("*") if is_of_corpus(file))
    elif name.split()[0] in _DATA and not Path(path).is_dir():
        from mpu_cli.text.stored import side_files  # imports NumPy and SciPy

        for kind, file in side_files(path):
            yield from _read_with(f"the {kind} of {name}", str(file))
    if pair := pair_of(path):
        yield from ((f"the {kind} of {name}", str(file)) for kind, file in pair._asdict().items())


def run_options(*names: str, **helps: str) -> Group:
    """Return some of ``--seed``, ``--jobs`` and ``--kernel``; the command gets `run`, a `Run`.

    `helps`: help of an option that has another meaning here.
    """
    options = [option for option in declared_options(Run) if option.name in names]
    for option in options:
        option.help = helps.get(str(option.name), option.help)
    return Group("run", partial(Run, step=messages.progress), options)


_READING = (option("--implicit-values", bool, "Read a feature index without a colon as `index:1`."),)
_NAMES = (
    option(
        "--labels NAMES",
        FILE,
        "Label names: a file whose line k names label k, or with lines `number<TAB>name`. Default: the names beside "
        "FILE, if any.",
    ),
    option("--zero-based", bool, "Line 1 of --labels names label 0. Default: only if the data have a label 0."),
)
reading_options = Group("reading", Reading, _READING)
names_options = Group("naming", lambda labels, zero_based: Naming(labels, zero_based), _NAMES)
suggestible_options = Group(
    "suggestible",
    Suggestible,
    (
        option("--only LABELS", FILE, "Use only these labels: a file with one number, name or URI per line."),
        option("--exclude LABELS", FILE, "Leave these labels out: a file like that of --only."),
    ),
)


def reviewed_option(purpose: str) -> click.Option:
    """Return ``--reviewed`` with this help."""
    return option("--reviewed CHECKED.tsv", FILE, f"{purpose} Can be repeated.", multiple=True)


def _sources(
    file: tuple[str, ...],
    fully_labelled: tuple[str, ...],
    labels: str | None,
    zero_based: bool,
    implicit_values: bool,
    **others: Any,
) -> Any:
    from mpu_cli.inputs.training_data import TrainingFiles  # imports NumPy and SciPy, which other commands need not

    if len(fully_labelled) > 1:
        raise click.UsageError("--fully-labelled takes one file: join them.")
    refuse_overlaps({"FILE": (*file, *fully_labelled)}, {})
    if fully_labelled and others.get("scores") is not None:
        raise click.UsageError("--scores covers FILE alone: leave out --fully-labelled.")
    if others["groups"] is not None:
        values = click.get_current_context().params
        for name, default in {"c": None, "fully_labelled": (), "method": "bbe"}.items():
            if values.get(name, default) != default:
                raise click.UsageError(
                    "--groups estimates c of each group from annotations alone, by the method bbe: leave out --groups "
                    f"or --{name.replace('_', '-')}."
                )
    return TrainingFiles(
        as_one(file),
        fully_labelled=next(iter(fully_labelled), None),
        naming=Naming(labels, zero_based),
        reading=Reading(implicit_values),
        **others,
    )


def training_files(*others: click.Option) -> Group:
    """Return FILE, the files with more about its labels, and the options for names and reading, as `sources`.

    `others`: options for further files, `label_features_option` and `scores_option`.
    """
    options = (
        click.Argument(["file"], metavar="FILE...", nargs=-1, required=True, type=FILE),
        reviewed_option(
            "Decisions of people about labels of FILE, as `mpu review` exports them. They override annotations."
        ),
        option(
            "--fully-labelled MORE.svm",
            FILE,
            "Also learn from these instances with complete label sets. To estimate c from them, draw them at random.",
            multiple=True,
        ),
        option(
            "--groups GROUPS",
            FILE,
            "Estimate c per group of instances, such as their source: line k of the file names the group of instance "
            "k.",
        ),
        option(
            "--same-fold FILE",
            FILE,
            "Keep instances that belong together, such as those of one patient, in one fold: line k names the set of "
            "instance k; instances with an empty line are one set.",
        ),
        option(
            "--implied RULES",
            FILE,
            "Labels that imply others: a file with two columns, narrower and broader label. Implied labels are not "
            "suggested. If nearly all of them are annotated, all are learned as true, and c is estimated without them. "
            "Default: from the thesaurus of `mpu vectorize --labels`.",
        ),
        *_NAMES,
        *_READING,
        *others,
    )
    return Group("sources", _sources, options)


label_features_option = option(
    "--label-features LABELS.svm",
    FILE,
    "Features of labels: lines `number index:value ...`, numbered as in FILE. Default: the words of their names, if "
    "`mpu vectorize` made FILE.",
)
scores_option = option(
    "--scores OOF",
    FILE,
    "Out-of-fold scores from 0 to 1 of another classifier, used instead of training: one line `label:score ...` per "
    "instance.",
)


# Metrics between 0 and 1 that a model cannot raise just by predicting more or fewer labels.
KS = (1, 3, 5)
METRICS = ("micro_f1", "macro_f1", "samples_f1", *(f"{name}_at_{k}" for name in ("precision", "ndcg") for k in KS))


@dataclass(frozen=True)
class Acceptance:
    """The criterion for accepting a new model, and the number of replaced models to keep."""

    accept_on: str | None = None  # data with complete labels that are not used for training; None: accept every model
    accept_metric: str = declared(
        Kind(words=METRICS),
        METRICS[0],
        "With --accept-on: reject a model if the 95 % interval of its decrease in micro_f1, macro_f1, samples_f1, "
        "precision_at_K or ndcg_at_K (K: 1, 3, 5) is above 0.",
    )
    keep: int = declared(
        Integer(0, 10_000),
        5,
        "With --accept-on: keep the last N replaced models as MODEL.1 (newest) to MODEL.N; a new one must not be "
        "worse than the best of them.",
    )
