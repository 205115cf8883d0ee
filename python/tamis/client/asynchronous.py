"""The asynchronous client."""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any, Literal, Self, TypeVar

import httpx

from tamis.client import calls
from tamis.client.answers import Answer, Changed, Checked, Explained, Failed, Id, Page, Ranked

T = TypeVar("T")


class AsyncClient:
    """A client for asyncio; use one for many requests.

    Args:
        url: The server's URL.
        token: The access token.
        timeout: Seconds to wait for an answer.
        options: More arguments of `httpx.AsyncClient`, such as `verify`.
    """

    def __init__(
        self, url: str, *, token: str | None = None, timeout: float = 30.0, **options: Any
    ) -> None:
        headers = calls.headers(token)
        self._http = httpx.AsyncClient(base_url=url, headers=headers, timeout=timeout, **options)

    async def match(
        self, event: object, *, where: str | None = None, now: str | None = None
    ) -> Answer:
        """What an event matches.

        Args:
            event: A mapping, or JSON as text or bytes.
            where: A condition on the metadata of subscriptions.
            now: The value of `now()`; the server's current time by default.
        """
        return await self._send(calls.match(event, where, now))

    async def first(
        self, event: object, n: int = 1, *, where: str | None = None, now: str | None = None
    ) -> list[Id]:
        """The ids of the highest priorities that an event matches, highest first.

        Args:
            event: A mapping, or JSON as text or bytes.
            n: The maximum number of results.
            where: A condition on the metadata of subscriptions.
            now: The value of `now()`.
        """
        return await self._send(calls.first(event, n, where, now))

    async def top(
        self,
        event: object,
        n: int = 10,
        *,
        weights: Mapping[str, Any] | None = None,
        now: str | None = None,
    ) -> Ranked:
        """What an event matches best, with scores, best first.

        Args:
            event: A mapping, or JSON as text or bytes.
            n: The maximum number of results.
            weights: The event's weights of attributes, or of their values; 1 by default.
            now: The value of `now()`.
        """
        return await self._send(calls.top(event, n, weights, now))

    async def explain(self, event: object, *ids: Id, now: str | None = None) -> list[Explained]:
        """Why subscriptions match an event, or not.

        Args:
            event: A mapping, or JSON as text or bytes.
            ids: The ids to explain; by default the matches, at most ten.
            now: The value of `now()`.
        """
        return await self._send(calls.explain(event, ids, now))

    async def check(self, expression: str) -> Checked:
        """Whether an expression is valid, and its canonical form."""
        return await self._send(calls.check(expression))

    async def get(self, id: Id) -> dict[str, Any]:
        """A subscription."""
        return await self._send(calls.get(id))

    async def put(
        self,
        id: Id,
        expression: str,
        *,
        metadata: object = None,
        weights: Mapping[str, Any] | None = None,
        boost: float | None = None,
    ) -> str:
        """Add a subscription, or replace it; the change is on the server's disk when this returns.

        Returns:
            The version that has it.
        """
        return await self._send(calls.put(id, expression, metadata, weights, boost))

    async def remove(self, id: Id) -> str:
        """Remove a subscription; returns the version without it."""
        return await self._send(calls.remove(id))

    async def change(
        self,
        items: Sequence[Mapping[str, Any]],
        *,
        on_error: Literal["raise", "collect"] = "raise",
    ) -> Changed:
        """Add, replace and remove many at once.

        Args:
            items: Objects with `id` and `expression`, or with `id` and `deleted`.
            on_error: `raise`: if one is invalid, nothing changes; `collect`: the valid ones are
                applied.
        """
        return await self._send(calls.change(items, on_error))

    async def page(
        self,
        limit: int = 100,
        *,
        after: str | None = None,
        where: str | None = None,
        text: str | None = None,
    ) -> Page:
        """Some of the subscriptions, in insertion order.

        Args:
            limit: The maximum number of results.
            after: The position to start after: `next` of the previous page.
            where: An expression over their metadata.
            text: Text that ids or expressions must contain, ignoring case.
        """
        return await self._send(calls.page(limit, after, where, text))

    async def stats(self) -> dict[str, Any]:
        """Statistics about the served index and the server."""
        return await self._send(calls.stats())

    async def match_batch(
        self, events: Iterable[object], *, now: str | None = None
    ) -> AsyncIterator[list[Id] | Failed]:
        """The matches of each event, in order; a `Failed` for an event that cannot be read.

        Args:
            events: Any number of events; they are sent a thousand at a time.
            now: The value of `now()`.
        """
        for batch in calls.batches(events):
            for found in await self._send(calls.match_batch(batch, now)):
                yield found

    async def stream(self, where: str | None = None) -> AsyncIterator[dict[str, Any]]:
        """Matches as they happen, each with `time`, `event`, `matches` and `version`.

        Args:
            where: An expression over them, such as `matches = 'a' and event.age > 20`.
        """
        params = {} if where is None else {"where": where}
        async with self._http.stream("GET", "/stream", params=params, timeout=None) as response:
            if not response.is_success:
                await response.aread()
                calls.stats().answer(response)
            async for line in response.aiter_lines():
                told = calls.happening(line)
                if told is not None:
                    yield told

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _send(self, call: calls.Call[T]) -> T:
        return call.answer(await self._http.send(call.request(self._http)))
