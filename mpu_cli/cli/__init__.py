"""The command line: one module per subcommand. Each declares options, calls one function and prints its report.

Modules here import nothing heavy at the top: ``mpu --help`` must not wait for NumPy.
"""

import click

from mpu_cli.cli.apply import apply
from mpu_cli.cli.complete import complete
from mpu_cli.cli.corrupt import corrupt
from mpu_cli.cli.estimate_c import estimate_c
from mpu_cli.cli.evaluate import evaluate
from mpu_cli.cli.experiment import experiment
from mpu_cli.cli.group import CleanErrors
from mpu_cli.cli.info import info
from mpu_cli.cli.predict import predict
from mpu_cli.cli.report import report
from mpu_cli.cli.review import review
from mpu_cli.cli.serve import serve
from mpu_cli.cli.train import train
from mpu_cli.cli.vectorize import vectorize
from mpu_cli.cli.versions import versions
from mpu_cli.version import __version__


@click.group(cls=CleanErrors, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", prog_name="mpu")
def mpu() -> None:
    """Learn multi-label classifiers from data in which some labels are missing.

    Data files are in LIBSVM multi-label format, plain or compressed (.gz, .bz2, .xz), here or at URLs such as
    https://... and s3://... (extra url). The name - means standard input.

    \b
    Example:
      mpu train news.svm                    # writes the model directory news.mpu
      mpu predict news.mpu new.svm -o tags.txt
    """


for command in (
    vectorize,
    corrupt,
    estimate_c,
    train,
    versions,
    info,
    complete,
    review,
    apply,
    report,
    predict,
    serve,
    evaluate,
    experiment,
):
    mpu.add_command(command)
