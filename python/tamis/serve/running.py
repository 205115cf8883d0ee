"""How does a server begin, and how does it end?"""

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
_SPARE_FILES = 128  # descriptors for everything that is no connection


class Server(uvicorn.Server):
    """A server over a service, with a socket that listens already.

    Args:
        service: What answers.
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
        """Where it listens."""
        host, port = self._listener.getsockname()[:2]
        return f"http://{f'[{host}]' if ':' in host else host}:{port}"

    def serve_until_told(self) -> None:
        """Answer requests until SIGTERM, SIGINT or `should_exit`."""
        log = self._service.log
        # Clients choose the names in `where`, and would fill the log with them.
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
        """Begin to listen."""
        await super().startup(sockets)
        connections = self.server_state.connections
        self._sweeper = asyncio.get_running_loop().create_task(sweep(connections))

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Finish what is being answered, and stop."""
        self._service.log.write("info", "stopping")
        self._service.announce_stop()
        await super().shutdown(sockets)
        if self._sweeper is not None:
            self._sweeper.cancel()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002
        """Stop; a second signal does not wait for what is being answered."""
        self.force_exit = self.should_exit
        self.should_exit = True


def run(folder: str | PathLike[str], settings: Settings | None = None) -> None:
    """Serve a folder until SIGTERM or SIGINT.

    Args:
        folder: Its path, or a URI.
        settings: The server's settings.

    Raises:
        StorageError: The folder has nothing to serve, or it cannot be read.
        ValueError: The tokens cannot be read, or there are none where they are needed.
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
    """A socket that listens.

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
    """Let the process open as many connections as it may."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + _SPARE_FILES
    if hard != resource.RLIM_INFINITY:
        needed = min(needed, hard)
    if soft != resource.RLIM_INFINITY and soft < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
