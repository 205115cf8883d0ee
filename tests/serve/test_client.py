"""The clients return what the server returns."""

import asyncio
import inspect
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tamis import Match
from tamis.client import AsyncClient, Client, Failed, ServerError
from tamis.serve import Settings

from .server import Running, running, wait_until

TOKEN = "w" * 20


@pytest.fixture
def owned(tmp_path: Path) -> Iterator[Running]:
    settings = Settings(own=True, tokens=f"write me {TOKEN}")
    with running(tmp_path / "index", settings) as server:
        yield server


def test_the_client(owned: Running) -> None:
    with Client(owned.url, token=TOKEN, verify=False) as client:
        assert client.put("a/b", "age > 20", metadata={"tier": 1}, boost=2.0) == "1"
        assert client.put(7, "tags = 'new'", weights={"tags": 2.5}) == "2"
        event = {"age": 21, "tags": "new"}
        assert client.match(event).matches == ["a/b", 7]
        assert client.match(b'{"age": 21}').version == "2"
        assert client.match(event, where="tier = 1").matches == ["a/b"]
        assert client.first(event) == ["a/b"]
        assert client.first(event, 2, where="missing(tier)") == [7]
        assert client.top(event, 1).top == [Match(7, 2.5)]
        assert client.top(event, 1, weights={"age": 9.0}).top == [Match("a/b", 18.0)]
        explained = client.explain(event, "a/b", 7)
        assert [(one.id, one.matched) for one in explained] == [("a/b", True), (7, True)]
        assert client.check("a=1").expression == "a = 1"
        assert client.check("a=").error["column"] == 3
        assert client.get("a/b")["metadata"] == {"tier": 1}
        batch = [event, "{", *[{"age": n} for n in range(2_500)]]
        found = list(client.match_batch(batch))
        assert found[0] == ["a/b", 7]
        assert isinstance(found[1], Failed)
        assert found[2:] == [["a/b"] if n > 20 else [] for n in range(2_500)]
        changed = client.change(
            [{"id": 7, "deleted": True}, {"id": "c", "expression": "("}], on_error="collect"
        )
        assert (changed.removed, changed.put, changed.refused[0]["item"]) == (1, 0, 1)
        assert client.remove("a/b") == "4"
        with pytest.raises(ServerError) as caught:
            client.remove("a/b")
        assert (caught.value.status, caught.value.kind) == (404, "UnknownIdError")
        assert caught.value.request
        assert client.page().subscriptions == []
        assert client.stats()["source"]["mode"] == "own"
    with Client(owned.url, verify=False) as stranger, pytest.raises(ServerError, match="401"):
        stranger.match({})
    with Client(owned.url, verify=False) as stranger, pytest.raises(ServerError, match="401"):
        next(stranger.stream())


def test_the_stream(owned: Running) -> None:
    told: list[object] = []

    def follow() -> None:
        with Client(owned.url, token=TOKEN, verify=False) as client:
            for happening in client.stream("matches = 'a' and event.age > 30"):
                told.append((happening["matches"], happening["event"]))
                return

    with Client(owned.url, token=TOKEN, verify=False) as client:
        client.put("a", "age > 20")
        client.put("b", "age > 40")
        thread = threading.Thread(target=follow)
        thread.start()
        wait_until(lambda: owned.service.tail.readers)
        client.match({"age": 25})
        list(client.match_batch([{"age": 10}, {"age": 35}]))
        thread.join(30)
    assert told == [(["a"], {"age": 35})]
    wait_until(lambda: not owned.service.tail.readers)


def test_the_client_to_be_awaited(owned: Running) -> None:
    async def ask() -> None:
        async with AsyncClient(owned.url, token=TOKEN, verify=False) as client:
            await client.put("a", "age > 20")
            answers = await asyncio.gather(*(client.match({"age": n}) for n in range(15, 25)))
            assert [bool(answer.matches) for answer in answers] == [n > 20 for n in range(15, 25)]
            found = [ids async for ids in client.match_batch([{"age": 30}, 5])]
            assert found[0] == ["a"]
            assert isinstance(found[1], Failed)
            with pytest.raises(ServerError, match="404"):
                await client.get("none")

    asyncio.run(ask())


def test_the_clients_have_the_same_methods() -> None:
    def methods(client: type) -> dict[str, list[str]]:
        return {
            name: list(inspect.signature(method).parameters)
            for name, method in inspect.getmembers(client, inspect.isfunction)
            if not name.startswith("_")
        }

    assert methods(Client) == methods(AsyncClient)
