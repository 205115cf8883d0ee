"""Routes requests, and handles what all of them have in common.

Every request gets an id, is counted and, if configured, logged. Cross-site requests and unknown
tokens are refused before anything is read. A failure is a status and a JSON object.
"""

import asyncio
import functools
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from os import PathLike
from time import perf_counter
from typing import Any, ParamSpec, TypeVar

from tamis.errors import TamisError
from tamis.serve import auth
from tamis.serve.answers import Query
from tamis.serve.follow import Follow
from tamis.serve.held import Held
from tamis.serve.logs import Log, RequestIds
from tamis.serve.metrics import Metrics, RouteMetrics
from tamis.serve.problem import ClientGoneError, RequestError, of_error
from tamis.serve.request import Bodies, Gate, Receive, Request, Scope, Send, only
from tamis.serve.response import Response, json_response, respond
from tamis.serve.settings import Settings
from tamis.serve.source import Source
from tamis.serve.tail import Tail

P = ParamSpec("P")
T = TypeVar("T")

Handler = Callable[["Service", Request], Awaitable[Response | None]]

_SLOW = 1.0  # seconds after which a request is logged
_GONE = 499  # the status under which requests of disconnected clients are counted
_MEMBER = "/subscriptions/"


@dataclass(frozen=True, slots=True)
class Route:
    """The handler of a path and a method.

    Attributes:
        handler: The function that answers.
        scope: The scope that a token needs; None if no token is needed.
        metrics: The counter of its requests.
    """

    handler: Handler
    scope: auth.Scope | None
    metrics: RouteMetrics


class Service:
    """The application: an ASGI callable over a source.

    Args:
        source: The source of the served index.
        settings: The server's settings.
        log: The log.
        metrics: The metrics.

    Raises:
        ValueError: The tokens cannot be read.
    """

    def __init__(self, source: Source, settings: Settings, log: Log, metrics: Metrics) -> None:
        from tamis.serve.routes import routes

        bounds = settings.bounds
        self.source = source
        self.settings = settings
        self.log = log
        self.metrics = metrics
        self.held = source.held
        self.plain = Query(hits=metrics.hits)
        self.tail = Tail()
        self.streams = Gate(bounds.streams, "too many streams")
        self.tails = Gate(bounds.tails, "too many readers of the stream")
        self.waiting = Gate(bounds.requests, "too many requests are waiting")
        self.bodies = Bodies(bounds.bodies)
        self.stopping = False
        self.loop: asyncio.AbstractEventLoop
        self._tokens = None if settings.tokens is None else auth.Tokens(settings.tokens)
        self._only_loopback = self._tokens is None and auth.is_loopback(settings.host)
        self._ids = RequestIds()
        self._threads = ThreadPoolExecutor(settings.threads, thread_name_prefix="tamis")
        self._tasks: list[asyncio.Task[None]] = []
        self._routes: dict[str, dict[str, Route]] = {}
        for (method, path), (handler, scope) in routes().items():
            route = Route(handler, scope, metrics.route(f"{method} {path}"))
            self._routes.setdefault(path, {})[method] = route
        self._other = metrics.route("other")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request, or the start and stop of the application."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = perf_counter()
        headers: dict[bytes, bytes] = dict(scope["headers"])
        id = self._ids.take(headers.get(b"x-request-id"))
        bounds = self.settings.bounds
        request = Request(scope, receive, send, headers, id, bounds, self.bodies)
        metrics, status = self._other, 200
        fault: BaseException | None = None
        try:
            try:
                route = self._route(scope, request)
                metrics = route.metrics
                auth.check_origin(headers, only_loopback=self._only_loopback)
                if self._tokens is not None and route.scope is not None:
                    header = headers.get(b"authorization")
                    request.who = self._tokens.check(header, route.scope)
                response = await route.handler(self, request)
            except RequestError as problem:
                response = self._describe(problem, request)
            except TamisError as error:
                response = self._describe(of_error(error), request)
            if response is not None:
                status = response.status
                await respond(request, response)
        except ClientGoneError:
            status = _GONE
        except asyncio.CancelledError:
            status = 503
            raise
        except Exception as error:
            status, fault = 500, error
            told = RequestError(500, "Fault", "internal error; see the log of the server")
            await respond(request, self._describe(told, request))
        finally:
            request.release()
            seconds = perf_counter() - began
            metrics.observe(status, seconds)
            if fault is not None or status >= 500 or seconds > _SLOW or self.settings.log_requests:
                self._log_request(scope, request, metrics, status, seconds, fault)

    def _route(self, scope: Scope, request: Request) -> Route:
        path: str = scope["path"]
        method: str = scope["method"]
        methods = self._routes.get(path)
        if methods is None and path.startswith(_MEMBER) and len(path) > len(_MEMBER):
            request.name = path[len(_MEMBER) :]
            methods = self._routes[_MEMBER + "{id}"]
        if methods is None:
            raise RequestError(404, "NotFound", "there is no such path; /openapi.json lists them")
        route = methods.get("GET" if method == "HEAD" else method)
        if route is None:
            raise only(*methods)
        return route

    def _describe(self, problem: RequestError, request: Request) -> Response:
        if problem.status == 503:
            self.metrics.busy += 1
        error = {"error": problem.to_dict(), "request": request.id.decode()}
        response = json_response(error, problem.status)
        response.headers += problem.headers
        return response

    def _log_request(
        self,
        scope: Scope,
        request: Request,
        metrics: RouteMetrics,
        status: int,
        seconds: float,
        fault: BaseException | None,
    ) -> None:
        # Neither the query nor the path's id, which may contain private data.
        about: dict[str, Any] = {
            "request": request.id.decode(),
            "route": metrics.name,
            "status": status,
            "milliseconds": round(seconds * 1000, 3),
            "client": (scope.get("client") or ["?"])[0],
        }
        if request.who:
            about["who"] = request.who
        if fault is not None:
            self.log.fault("request", fault, **about)
        else:
            self.log.write("error" if status >= 500 else "info", "request", **about)

    async def work(self, function: Callable[P, T], /, *arguments: P.args, **named: P.kwargs) -> T:
        """Run a long call on another thread.

        Raises:
            RequestError: Too many requests are waiting for one.
        """
        with self.waiting.enter():
            return await self.run(function, *arguments, **named)

    async def run(self, function: Callable[P, T], /, *arguments: P.args, **named: P.kwargs) -> T:
        """Run a function on another thread, without limiting the number of waiting requests."""
        call = functools.partial(function, *arguments, **named)
        return await self.loop.run_in_executor(self._threads, call)

    def publish(self, held: Held) -> None:
        """Serve another version from now on."""
        self.held = held

    async def start(self) -> None:
        """Start, on the running event loop."""
        self.loop = asyncio.get_running_loop()
        self.source.start(self.publish)
        self._tasks.append(self.loop.create_task(self._tick()))

    def announce_stop(self) -> None:
        """End the streams; requests are still answered."""
        self.stopping = True
        self.tail.close()

    async def stop(self) -> None:
        """Stop; no more requests are answered."""
        self.announce_stop()
        for task in self._tasks:
            task.cancel()
        await self.source.stop()
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(1.0)
            self.metrics.tick()

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        await self.start()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self.stop()
        await send({"type": "lifespan.shutdown.complete"})


def create(
    folder: str | PathLike[str], settings: Settings | None = None, log: Log | None = None
) -> Service:
    """The application over a folder.

    Args:
        folder: Its path, or a URI.
        settings: The settings.
        log: The log; standard error by default.

    Raises:
        StorageError: The folder has nothing to serve, or it cannot be read.
        ValueError: The tokens cannot be read.
    """
    settings, log, metrics = settings or Settings(), log or Log(), Metrics()
    source: Source
    if settings.own:
        from tamis.serve.own import Own

        source = Own(folder, settings, log)
    else:
        source = Follow(folder, settings, log, metrics)
    return Service(source, settings, log, metrics)
