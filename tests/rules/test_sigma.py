"""Sigma rules of our own, with every modifier, against an evaluator over pySigma's parse tree."""

import os
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import tamis
from tamis.rules import sigma

pytest.importorskip("sigma.collection")

from sigma.collection import SigmaCollection

from .sigma_judge import View, prepare

FOLDER = Path(__file__).parent / "sigma"
RULES = (FOLDER / "modifiers.yml").read_text(encoding="utf-8")

TEXTS = [
    "C:\\Windows\\System32\\whoami.exe /all /priv",
    "C:\\Windows\\System32\\WHOAMI.EXE",
    "C:\\Program Files\\tool\\net1.exe",
    "powershell.exe -enc aGk= -nop x",
    "powershell.exe /ENC aGk= \u2013nop x",
    "NetCat 10.0.0.1",
    "netcat 10.0.0.1",
    "curl  -sS x",
    "wget",
    "WGET",
    "begin\nend",
    "x\nbegin end\ny",
    "aHR0cDovL2V4YW1wbGUuY29t",
    "xodHRwOi8vZXhhbXBsZQ",
    "c2VjcmV0",
    "SQBuAHYAbwBrAGUALQBJAHQ=",
    "cmd.exe /c cat file",
    "CMD /C BAT y",
    "100% *?\\done",
    "a%_b",
    "segfault at 0",
    "core was DUMPED",
    "4242",
    "failed login of root",
    "Failed",
    "10.1.2.3",
    "2001:db8::1",
    "2001:DB9::1",
    "192.168.0.1",
    "not an address",
    "",
    "smith",
    "SMITH",
    "Straße",
    "STRASSE",
    "İstanbul",
    "istanbul",
    "B.EXE",
    "\\a.exe",
    "ab",
    "xb",
    "ay",
    "2026-02-28T03:59:00Z",
    "2026-01-31 23:59:30",
    "2026-02-01",
    "3000",
    "80",
    "true",
    "False",
    "4688",
    "4689",
    "4.5",
]
VALUES: list[Any] = [
    *TEXTS,
    None,
    True,
    False,
    0,
    80,
    443,
    1024,
    3000,
    4688,
    4689,
    4.5,
    10.5,
    1000,
    -1,
]
FIELDS = [
    "Image", "CommandLine", "ParentImage", "EventID", "Channel", "Signed", "Initiated", "User", "Hash", "Debug",
    "DestinationIp", "Port", "Size", "TargetUser", "Folder", "Name", "Time", "OriginalFileName", "message",
]  # fmt: skip


CHOSEN: list[dict[str, Any]] = [  # unlikely to be generated
    {"Image": "C:\\x\\WHOAMI.exe", "CommandLine": "whoami /ALL /PRIV"},
    {"Image": "C:\\x\\net1.exe", "CommandLine": "/all priv", "ParentImage": "c:\\program files\\a"},
    {"EventID": "4688", "Channel": "SECURITY"},
    {"EventID": 4689, "Channel": "security"},
    {"EventID": 4.5, "Channel": "security"},
]


def events(seed: int, count: int) -> list[dict[str, Any]]:
    chance = random.Random(seed)
    found = []
    for _ in range(count):
        event: dict[str, Any] = {}
        for field in chance.sample(FIELDS, chance.randint(0, 8)):
            value = chance.choice(VALUES)
            if chance.random() < 0.1:
                value = [value, chance.choice(VALUES)]
            if isinstance(value, str) and chance.random() < 0.2:
                value = value.swapcase()
            event[field] = value
        found.append(event)
    return found


def judged(read: Any, rules: list[Any], every: list[dict[str, Any]]) -> Counter[str]:
    """Compare all rules on all events; returns how often each rule matches."""
    index = tamis.Index(missing="false")
    index.add_many(read.subscriptions)
    by_id = {str(rule.id): rule for rule in rules}
    tests = [(each.id, prepare(by_id[each.id])) for each in read.subscriptions]
    total = Counter[str]()
    for event, found in zip(every, index.match_batch(every), strict=True):
        view = View(event)
        wanted = [identifier for identifier, test in tests if test(view)]
        assert found == wanted, event
        total.update(wanted)
    return total


def test_every_modifier_as_the_judge_has_it() -> None:
    read = sigma.read(RULES)
    assert read.refused == []
    rules = SigmaCollection.from_yaml(RULES).rules
    assert len(read.subscriptions) == len(rules) == 19
    every = [*CHOSEN, *events(1, int(os.environ.get("TAMIS_FUZZ_CASES", "1500")))]
    every += [varied(event, random.Random(2)) for event in every]
    matched = judged(read, rules, every)
    assert matched.total() > 300
    assert set(matched) == {str(rule.id) for rule in rules}, "some rule never matches"


def test_refused_rules_cost_no_other() -> None:
    read = sigma.read(FOLDER / "refused.yml")
    assert [each.id for each in read.subscriptions] == ["10000000-0000-4000-8000-000000000008"]
    reasons = {refused.id[-1] if refused.id else "": refused for refused in read.refused}
    assert "several events" in reasons["1"].reason
    assert "placeholder %admins%" in reasons["2"].reason
    assert "week" in reasons["3"].reason
    assert "sounds_like" in reasons["4"].reason
    assert "nothing" in reasons["5"].reason
    assert "detection" in reasons["6"].reason.lower()
    assert "(?!" in reasons["7"].reason
    assert [refused.line for refused in read.refused] == sorted(
        refused.line for refused in read.refused
    )
    assert all(refused.file and refused.file.endswith("refused.yml") for refused in read.refused)


def test_metadata() -> None:
    read = sigma.read(FOLDER / "modifiers.yml")
    first = read.subscriptions[0]
    assert first.metadata is not None
    assert first.metadata["title"] == "Text in any case, with wildcards"
    assert first.metadata["level"] == "high"
    assert first.metadata["tags"] == ["attack.execution"]
    assert first.metadata["logsource"] == {"category": "process_creation", "product": "windows"}
    assert first.metadata["file"].endswith("modifiers.yml")


def test_pipelines() -> None:
    from sigma.processing.pipeline import ProcessingItem, ProcessingPipeline
    from sigma.processing.transformations import FieldMappingTransformation

    renamed = ProcessingPipeline(
        items=[ProcessingItem(FieldMappingTransformation({"User": "user.name"}))]
    )
    rule = "title: x\nlogsource: {product: a}\ndetection:\n  s: {User: Smith}\n  condition: s\n"
    read = sigma.read(rule, pipeline=renamed)
    assert [str(each.expression) for each in read.subscriptions] == ["lower(user.name) = 'smith'"]
    with pytest.raises(tamis.rules.RuleError, match="nowhere"):
        sigma.read(rule, pipeline="nowhere")


def test_the_backend_is_found() -> None:
    from sigma.plugins import InstalledSigmaPlugins

    backends: Any = InstalledSigmaPlugins.autodiscover().backends
    backend = backends["tamis"]()
    rule = "title: x\nlogsource: {product: a}\ndetection:\n  s: {User: Smith}\n  condition: s\n"
    assert backend.convert(SigmaCollection.from_yaml(rule)) == ["lower(User) = 'smith'"]


BAD_TEXTS = {
    "not YAML": "title: [unclosed\n",
    "a scalar": "just text\n",
    "a list": "- 1\n- 2\n",
    "numbers as keys": "1: 2\n3: 4\n",
    "an alias bomb": "a: &a [x, x, x, x, x, x, x, x, x]\n"
    + "".join(
        f"{n}: &{n} [*{p}, *{p}, *{p}, *{p}, *{p}, *{p}, *{p}, *{p}]\n"
        for p, n in zip("abcdefghi", "bcdefghij", strict=True)
    )
    + "title: bomb\nlogsource: {product: a}\ndetection: {s: {f: *j}, condition: s}\n",
    "a cycle": "title: x\nlogsource: {product: a}\ndetection: &d\n  s: {f: 1}\n  t: *d\n  condition: s\n",
    "deep": "a: " + "[" * 50_000 + "]" * 50_000 + "\n",
    "a condition nested deeply": "title: x\nlogsource: {product: a}\ndetection: {s: {f: 1}, condition: "
    + "not " * 3000
    + "s}\n",
    "10 MB of one rule": "title: x\nlogsource: {product: a}\ndetection: {s: {f: "
    + "x" * 10_000_000
    + "}, condition: s}\n",
    "an unknown modifier": "title: x\nlogsource: {product: a}\ndetection: {s: {f|nearly: 1}, condition: s}\n",
    "a character that YAML forbids": "title: \0\n",
    "a tag of Python": "title: !!python/object/apply:os.system [ls]\n",
    "a condition of the wrong type": "title: x\nlogsource: {product: a}\ndetection: {s: {f: 1}, condition: 7}\n",
    "a detection of the wrong type": "title: x\nlogsource: {product: a}\ndetection: 7\n",
}


@pytest.mark.parametrize("name", BAD_TEXTS)
def test_bad_texts_are_refused(name: str) -> None:
    good = "title: good\nlogsource: {product: a}\ndetection:\n  s: {f: 1}\n  condition: s\n"
    read = sigma.read(BAD_TEXTS[name])
    assert read.subscriptions == []
    assert len(read.refused) >= 1
    assert all(refused.reason for refused in read.refused)
    assert sigma.read(good).refused == []


def test_folders(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    good = "title: {0}\nlogsource: {{product: a}}\ndetection:\n  s: {{f: 1}}\n  condition: s\n"
    (tmp_path / "a.yml").write_text(good.format("a"))
    (tmp_path / "below" / "b.yaml").write_text(good.format("b"))
    (tmp_path / "bad.yml").write_bytes(b"title: \xff\n")
    (tmp_path / "notes.txt").write_text("no rule")
    (tmp_path / "link.yml").symlink_to("/etc/passwd")
    read = sigma.read(tmp_path)
    assert [each.id for each in read.subscriptions] == ["a", "b"]
    assert [Path(refused.file or "").name for refused in read.refused] == ["bad.yml"]
    with pytest.raises(tamis.rules.RuleError, match="no file or folder"):
        sigma.read(tmp_path / "none")


@pytest.mark.skipif("SIGMA" not in os.environ, reason="SIGMA names a folder of public rules")
def test_public_rules() -> None:
    """Rules and events of a folder: `rules/` and `events.jsonl` with `rule` and `event`."""
    import json

    folder = Path(os.environ["SIGMA"])
    read = sigma.read(folder / "rules")
    assert len(read.subscriptions) >= 0.98 * (len(read.subscriptions) + len(read.refused))
    rules = []
    for path in sorted((folder / "rules").rglob("*.yml")):
        rules += SigmaCollection.from_yaml(path.read_text(encoding="utf-8")).rules
    lines = (folder / "events.jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    index = tamis.Index(missing="false")
    index.add_many(read.subscriptions)
    lost = [each["rule"] for each in records if each["rule"] not in index.match(each["event"])]
    assert lost == []
    every = [record["event"] for record in records]
    chance = random.Random(7)
    every += [varied(event, chance) for event in every for _ in range(20)]
    matched = judged(read, rules, every)
    print(
        f"{len(read.subscriptions)} rules read, {len(read.refused)} refused; {len(every)} events, "
        f"{len(read.subscriptions) * len(every):,} pairs, {matched.total()} matches"
    )
    for refused in read.refused:
        print(refused)
    assert matched.total() > len(records)


def varied(event: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    """The event in another case, without some fields, with truncated text."""
    kept = {name: value for name, value in event.items() if chance.random() >= 0.15}
    return {
        name: cut(value, chance) if isinstance(value, str) and value else value
        for name, value in kept.items()
    }


def cut(text: str, chance: random.Random) -> str:
    kind, place = chance.randrange(5), chance.randrange(len(text))
    return [text.upper(), text.swapcase(), text[place:], text[:place], text][kind]
