"""The command `tamis`: checks expressions, and matches, ranks and explains events.

One module per command (`check`, `match`, `top`, `explain`, those of `lab` and of `spark`), combined
in `app`. They share their `arguments`, files (`reading`), the lines of
`subscriptions`, `output` and `progress`. The exit code is 0 on success, 1 if some input is invalid,
and 2 if a command could not run.

Needs the extra `tamis[cli]`; nothing of it is imported before `main` runs.
"""

import os
import sys
from collections.abc import Sequence

__all__ = ["main"]

_FAILED = 2
_FAULT = 70  # an error inside Tamis; EX_SOFTWARE of sysexits.h
_INTERRUPTED = 130  # what a shell reports after Ctrl-C
_NO_READER = 141  # what it reports after a broken pipe, as in `tamis match ... | head`


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: The words after `tamis`; those of the process by default.

    Returns:
        The exit code.
    """
    try:
        code = _run(sys.argv[1:] if arguments is None else arguments)
        if sys.stdout is not None:
            sys.stdout.flush()
    except KeyboardInterrupt:
        code = _INTERRUPTED
    except BrokenPipeError:
        code = _NO_READER
    except OSError as error:  # while writing; errors while reading are reported as such
        code = _complain(f"cannot write: {error.strerror or error}", _FAILED)
    except Exception as error:
        if sys.flags.dev_mode:  # python -X dev -m tamis ...
            raise
        code = _complain(f"a fault in Tamis, please report it: {error!r}", _FAULT)
    _settle()
    return code


def _run(arguments: Sequence[str]) -> int:
    try:
        from tamis.cli.app import run

        return run(arguments)
    except ModuleNotFoundError as error:
        name = (error.name or "tamis").partition(".")[0]
        if name == "tamis":
            raise
        message = f"the command line needs {name}: pip install 'tamis[cli]'"
        return _complain(message, _FAILED)


def _complain(message: str, code: int) -> int:
    if sys.stderr is not None:
        print(f"tamis: {message}", file=sys.stderr)
    return code


def _settle() -> None:
    """Drop unwritable output, so that the interpreter does not complain about it on exit."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
