"""Starts and stops a server."""

import asyncio
import contextlib
import logging
import resource
import socket
import warnings
from os import PathLike
from types import FrameType

import uvicorn

from tamis.errors import MetadataWarning
from tamis.serve import auth
from tamis.serve.app import Service, create
from tamis.serve.logs import Forward
from tamis.serve.protocol import protocol, sweep
from tamis.serve.settings import Settings

_BACKLOG = 4096  # connections that wait to be accepted
_SPARE_FILES = 128  # descriptors for everything except connections


class Server(uvicorn.Server):
    """A server for a service, on a listening socket.

    Args:
        service: The service.
        listener: The socket.
    """

    def __init__(self, service: Service, listener: socket.socket) -> None:
        bounds = service.settings.bounds
        super().__init__(
            uvicorn.Config(
                service,
                http=protocol(bounds, service.metrics),  # type: ignore[arg-type]
                loop="uvloop",
                ws="none",
                lifespan="on",
                log_config=None,
                log_level=logging.ERROR,
                access_log=False,
                server_header=False,
                backlog=_BACKLOG,
                timeout_keep_alive=max(1, int(bounds.idle_seconds)),
                timeout_graceful_shutdown=max(1, int(service.settings.grace)),
            )
        )
        self._service = service
        self._listener = listener
        self._sweeper: asyncio.Task[None] | None = None
        service.metrics.connections = self.server_state.connections

    @property
    def url(self) -> str:
        """The URL of the server."""
        host, port = self._listener.getsockname()[:2]
        return f"http://{f'[{host}]' if ':' in host else host}:{port}"

    def serve_until_told(self) -> None:
        """Answer requests until SIGTERM, SIGINT or `should_exit`."""
        log = self._service.log
        # Clients choose the names in `where`, and could fill the log with warnings.
        warnings.simplefilter("ignore", MetadataWarning)
        forward = Forward(log)
        for name in ("uvicorn.error", "asyncio"):
            logging.getLogger(name).handlers = [forward]
            logging.getLogger(name).propagate = False
        source, version = self._service.source, self._service.held.version
        log.write("info", "serving", url=self.url, mode=source.mode, version=version)
        self.run(sockets=[self._listener])
        log.write("info", "stopped")

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start listening."""
        await super().startup(sockets)
        connections = self.server_state.connections
        self._sweeper = asyncio.get_running_loop().create_task(sweep(connections))

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Finish the running requests, and stop."""
        self._service.log.write("info", "stopping")
        self._service.announce_stop()
        await super().shutdown(sockets)
        if self._sweeper is not None:
            self._sweeper.cancel()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002
        """Stop; after a second signal, without waiting for the running requests."""
        self.force_exit = self.should_exit
        self.should_exit = True


def run(folder: str | PathLike[str], settings: Settings | None = None) -> None:
    """Serve a folder until SIGTERM or SIGINT.

    Args:
        folder: Its path, or a URI.
        settings: The server's settings.

    Raises:
        StorageError: The folder has nothing to serve, or it cannot be read.
        ValueError: The tokens are invalid, or missing for an address that others can reach.
        OSError: The address cannot be listened on.
    """
    settings = settings or Settings()
    if settings.tokens is None and not auth.is_loopback(settings.host):
        message = f"{settings.host} can be reached by others: tokens are needed"
        raise ValueError(message)
    allow_connections(settings.bounds.connections)
    with contextlib.closing(listen(settings.host, settings.port)) as listener:
        Server(create(folder, settings), listener).serve_until_told()


def listen(host: str, port: int) -> socket.socket:
    """Open a listening socket.

    Raises:
        OSError: The address cannot be listened on.
    """
    family, kind, proto, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    listener = socket.socket(family, kind, proto)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(_BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener


def allow_connections(wanted: int) -> None:
    """Raise the limit on open files to the wanted number of connections, if allowed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + _SPARE_FILES
    if hard != resource.RLIM_INFINITY:
        needed = min(needed, hard)
    if soft != resource.RLIM_INFINITY and soft < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
