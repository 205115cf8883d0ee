"""A server killed at any time keeps acknowledged changes, and applies changes atomically.

Every writer has its own ids and a journal of its requests and their responses. After a kill, the
server's state must agree with the journals; a request without a response is applied completely or
not at all.
"""

import random
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from longer import LONG
from tamis.serve import Settings, create
from tamis.serve.log import ChangeLog, Entry

from .process import Process

KILLS = 200 if LONG else 3
State = dict[str, str]  # expressions by id


@dataclass
class Writer:
    """A writer that changes subscriptions, one request at a time."""

    name: str
    random: random.Random
    known: State = field(default_factory=dict)
    asked: State | None = None  # the state if the unanswered request was applied
    told: int = 0

    def write(self, url: str) -> None:
        """Send changes until the server is killed."""
        with httpx.Client(base_url=url, timeout=60, verify=False) as client:
            while True:
                wanted, request = self._choose()
                self.asked = wanted
                try:
                    response = client.send(client.build_request(*request[:2], json=request[2]))
                except httpx.TransportError:
                    return
                assert response.is_success, response.text
                self.known, self.asked = wanted, None
                self.told += 1

    def _choose(self) -> tuple[State, tuple[str, str, object]]:
        """The next request, and the state after it."""
        id = f"{self.name}-{self.random.randrange(50)}"
        text = f"x = {self.random.randrange(1_000_000)}"
        chance = self.random.random()
        if chance < 0.2 and id in self.known:
            left = {name: self.known[name] for name in self.known if name != id}
            return left, ("DELETE", f"/subscriptions/{id}", None)
        if chance < 0.6:
            return {**self.known, id: text}, ("PUT", f"/subscriptions/{id}", {"expression": text})
        ids = self.random.sample(range(50), 20)
        items = [{"id": f"{self.name}-{number}", "expression": text} for number in ids]
        return (
            {**self.known, **{str(item["id"]): text for item in items}},
            ("POST", "/subscriptions", items),
        )

    def check(self, found: State) -> None:
        """Fail if the server's state disagrees with the journal."""
        mine = {id: text for id, text in found.items() if id.partition("-")[0] == self.name}
        possible = [self.known] + ([] if self.asked is None else [self.asked])
        assert mine in possible
        self.known, self.asked = mine, None


def all_of(url: str) -> State:
    found: State = {}
    after: dict[str, str] = {}
    with httpx.Client(base_url=url, timeout=60, verify=False) as client:
        while True:
            page = client.get("/subscriptions", params={"limit": 1000, **after}).json()
            found |= {one["id"]: one["expression"] for one in page["subscriptions"]}
            if page["next"] is None:
                return found
            after = {"after": page["next"]}


def test_kills(tmp_path: Path) -> None:
    chance = random.Random(2026)
    writers = [Writer(name, random.Random(name)) for name in ("a", "b", "c", "d")]
    for _ in range(KILLS):
        server = Process(tmp_path / "index", "--own", "--fold", "40")
        try:
            found = all_of(server.url)
            for writer in writers:
                writer.check(found)
            threads = [
                threading.Thread(target=writer.write, args=(server.url,)) for writer in writers
            ]
            for thread in threads:
                thread.start()
            time.sleep(chance.uniform(0.05, 0.6))
        finally:
            server.kill()
        for thread in threads:
            thread.join()
    server = Process(tmp_path / "index", "--own")
    try:
        found = all_of(server.url)
        for writer in writers:
            writer.check(found)
        assert set(found) == {id for writer in writers for id in writer.known}
    finally:
        assert server.stop() == 0
    assert sum(writer.told for writer in writers) > KILLS
    assert any('"stopped"' in line for line in server.log)


def test_replay_of_many_changes(tmp_path: Path) -> None:
    """The log of a million changes is applied in few groups and few additions."""
    changes = 1_000_000 if LONG else 20_000
    log = ChangeLog(tmp_path / "index" / "changes")
    log.begin(1)
    number = 0
    while number < changes:
        group = []
        for _ in range(min(1_000, changes - number)):
            number += 1
            put = {
                "id": number % (changes // 2),
                "expression": f"a = {number} and b > {number % 7}",
            }
            group.append(
                Entry(number, [put], []) if number % 10 else Entry(number, [], [number - 5])
            )
        log.append(group)
    log.close()
    began, busy = time.perf_counter(), time.process_time()
    service = create(tmp_path / "index", Settings(own=True))
    seconds, busy = time.perf_counter() - began, time.process_time() - busy
    print(f"replay of {changes} changes: {seconds:.2f} s, {busy:.2f} s of processors")
    assert service.held.version == str(changes)
    last = changes - 1
    assert str(service.held.index[last % (changes // 2)].expression).startswith(f"a = {last} ")
    assert len(service.held.engine) <= changes // 2
