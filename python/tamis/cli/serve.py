"""`tamis serve`: answer HTTP requests from a compiled or saved index."""

import os
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter, validators

from tamis.cli.output import CommandError, report

USAGE = "Usage: tamis serve FOLDER [OPTIONS]"
EXAMPLES = """
Examples:

    tamis serve campaigns.tamis
    tamis serve s3://bucket/campaigns --poll 10
    tamis serve rules --own --host 0.0.0.0 --tokens tokens.txt

    curl -d '{"age": 21}' localhost:8080/match
"""

_Positive = Annotated[int, Parameter(validator=validators.Number(gte=1))]
_Seconds = Annotated[float, Parameter(validator=validators.Number(gt=0))]


def serve(
    folder: str,
    /,
    *,
    own: bool = False,
    host: str = "127.0.0.1",
    port: Annotated[int, Parameter(validator=validators.Number(gte=0, lte=65535))] = 8080,
    tokens: Path | None = None,
    poll: _Seconds = 1.0,
    fold: _Positive = 100_000,
    timeout: _Seconds = 1.0,
    max_body: _Positive = 16 << 20,
    max_batch: _Positive = 10_000,
    max_connections: _Positive = 16_384,
    threads: _Positive | None = None,
    log_requests: bool = False,
    copy: bool = False,
) -> int:
    """Serve a saved index, graph or XML filter over HTTP.

    Follows the folder: when a new version is committed there, it replaces the one that is served.
    With `--own`, accepts changes instead, and writes each to disk before it is acknowledged. `/`
    has a console. On SIGTERM or Ctrl-C, finishes the running requests and exits.

    Args:
        folder: The folder, or its URI.
        own: Accept changes. The folder is created if it does not exist.
        host: The address to listen on. An address that others can reach needs tokens.
        port: The port to listen on; 0 for any free port.
        tokens: A file with lines of `read NAME TOKEN` or `write NAME TOKEN`; by default the
            environment's TAMIS_TOKENS.
        poll: Seconds between checks for a new version.
        fold: With `--own`, the number of changes after which the index is saved and a new log
            begins.
        timeout: Seconds that matching one event may take.
        max_body: Bytes of a request's body.
        max_batch: Events of a list, or subscriptions of a bulk change.
        max_connections: Connections at one time.
        threads: Threads for long requests; by default one per core, at least 2.
        log_requests: Log every request, not only changes, failures and slow requests.
        copy: Copy files into memory instead of mapping them.
    """
    try:
        from tamis.serve import Settings, run
    except ModuleNotFoundError as error:
        raise CommandError(str(error)) from error
    from tamis.serve.settings import Bounds

    try:
        given = tokens.read_text("utf-8") if tokens else os.environ.get("TAMIS_TOKENS") or None
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{tokens}: the tokens cannot be read: {error}") from error
    if tokens and tokens.stat().st_mode & 0o044:
        report(f"{tokens}: other users can read these tokens; chmod 600 {tokens}")
    settings = Settings(
        own=own,
        host=host,
        port=port,
        tokens=given,
        poll=poll,
        fold=fold,
        threads=threads or Settings.threads,
        log_requests=log_requests,
        copy=copy,
        bounds=Bounds(
            seconds=timeout,
            body=max_body,
            batch=max_batch,
            connections=max_connections,
        ),
    )
    try:
        run(folder, settings)
    except (OSError, ValueError) as error:
        raise CommandError(str(error)) from error
    return 0
