"""Combines the commands into one application, and parses the command line."""

import re
from collections.abc import Sequence
from typing import Literal

from cyclopts import App, CycloptsError, Parameter

from tamis._tamis import __version__
from tamis.cli import check, compile, explain, match, ranked, serve, test
from tamis.cli.lab import compare as lab_compare
from tamis.cli.lab import draw as lab_draw
from tamis.cli.lab import generate as lab_generate
from tamis.cli.lab import report as lab_report
from tamis.cli.lab import rivals as lab_rivals
from tamis.cli.lab import run as lab_run
from tamis.cli.output import FAILED, VALID, CommandError, prepare, report, write
from tamis.cli.rules import read as rules_read
from tamis.cli.spark import compile as spark_compile
from tamis.cli.spark import count as spark_count
from tamis.cli.spark import first as spark_first
from tamis.cli.spark import match as spark_match
from tamis.cli.spark import match_graph as spark_match_graph
from tamis.cli.spark import match_xml as spark_match_xml
from tamis.cli.spark import stream as spark_stream
from tamis.cli.spark import top as spark_top
from tamis.cli.spark import update as spark_update
from tamis.cli.spark import vacuum as spark_vacuum
from tamis.cli.spark import versions as spark_versions

_COMPLETION = """
Examples:

    source <(tamis completion bash)
    tamis completion zsh > ~/.zfunc/_tamis
    tamis completion fish > ~/.config/fish/completions/tamis.fish
"""


def _show_default(value: object) -> str | None:
    """The default value as shown in help; not shown for a flag that is off or an empty list."""
    return None if value is None or value is False or value == () else str(value)


_PARAMETER = Parameter(negative="", show_default=_show_default)

app = App(
    name="tamis",
    help="Find, for each event, which of many rules (Boolean expressions) are true.",
    version=f"tamis {__version__}",
    version_flags=["--version", "-V"],
    help_format="markdown",
    help_epilogue="`tamis COMMAND --help` shows all options and examples.",
    default_parameter=_PARAMETER,
    suppress_keyboard_interrupt=False,
)
app.command(check.check, usage=check.USAGE, help_epilogue=check.EXAMPLES)
app.command(compile.compile, usage=compile.USAGE, help_epilogue=compile.EXAMPLES)
app.command(match.match, usage=match.USAGE, help_epilogue=match.EXAMPLES)
app.command(ranked.top, usage=ranked.TOP_USAGE, help_epilogue=ranked.TOP_EXAMPLES)
app.command(ranked.first, usage=ranked.FIRST_USAGE, help_epilogue=ranked.FIRST_EXAMPLES)
app.command(explain.explain, usage=explain.USAGE, help_epilogue=explain.EXAMPLES)
app.command(test.run_examples, name="test", usage=test.USAGE, help_epilogue=test.EXAMPLES)
app.command(serve.serve, usage=serve.USAGE, help_epilogue=serve.EXAMPLES)

foreign = App(
    name="rules",
    help="Read rules of other languages: Sigma, EventBridge, MongoDB-style conditions, SQL.",
    default_parameter=_PARAMETER,
)
app.command(foreign)
foreign.command(rules_read.read, usage=rules_read.USAGE, help_epilogue=rules_read.EXAMPLES)

pipeline = App(
    name="spark",
    help="Compile subscriptions and match events on Spark. Needs `tamis[spark]` and Java 17.",
    default_parameter=_PARAMETER,
)
app.command(pipeline)
for command in (
    spark_compile,
    spark_update,
    spark_match,
    spark_match_xml,
    spark_match_graph,
    spark_top,
    spark_first,
    spark_count,
    spark_stream,
    spark_versions,
    spark_vacuum,
):
    run_it = getattr(command, command.__name__.rpartition(".")[2])
    pipeline.command(run_it, usage=command.USAGE, help_epilogue=command.EXAMPLES)

laboratory = App(
    name="lab",
    help="Generate published workloads, compare the matchers on any data, redraw papers' figures.",
    default_parameter=_PARAMETER,
)
app.command(laboratory)
for command in (lab_generate, lab_compare, lab_run, lab_draw, lab_report, lab_rivals):
    run_it = getattr(command, command.__name__.rpartition(".")[2])
    laboratory.command(run_it, usage=command.USAGE, help_epilogue=command.EXAMPLES)


@app.command(usage="Usage: tamis completion bash|zsh|fish|powershell", help_epilogue=_COMPLETION)
def completion(shell: Literal["bash", "zsh", "fish", "powershell"], /) -> int:
    """Write a script that completes commands and options in a shell. Changes no file.

    Args:
        shell: The shell.
    """
    write(app.generate_completion(shell=shell))
    return VALID


def _one_value(message: str) -> str:
    """A message of Cyclopts, without the tuple around the value of a repeatable option."""
    return re.sub(r"""Invalid value "\((['"])(.*?)\1,\)" for""", r'Invalid value "\2" for', message)


def run(arguments: Sequence[str]) -> int:
    """Run a command.

    Args:
        arguments: The words after `tamis`.

    Returns:
        The exit code.
    """
    try:
        prepare()
        code = app(
            list(arguments), exit_on_error=False, print_error=False, result_action="return_value"
        )
    except CommandError as error:
        report(f"tamis: {error.message}" if error.code == FAILED else error.message)
        return error.code
    except CycloptsError as error:
        report(f"tamis: {_one_value(str(error))}")
        return FAILED
    return code or 0
