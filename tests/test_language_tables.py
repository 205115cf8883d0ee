"""Functions over their whole domain: every character, hashes of texts of every length."""

import unicodedata
from random import Random
from typing import Any

import xxhash

from judge.functions import WHITE_SPACE, lower, upper
from tamis import Index

# Letters whose capital is newer than the Unicode version of the oldest supported Python.
NEWER = {"\u019b", "\u0264", "\ua7d3", "\ua7d5"}


def all_hold(index: Index, events: list[dict[str, Any]]) -> None:
    """Every subscription of an index holds for every event."""
    wanted = list(index)
    wrong = [
        (event, found)
        for event, found in zip(events, index.match_batch(events), strict=True)
        if found != wanted
    ]
    assert not wrong, f"{len(wrong)} of {len(events)}: {wrong[:5]}"


def test_case_of_every_character() -> None:
    index = Index()
    index.add("lower", "lower(s) = l")
    index.add("upper", "upper(s) = u")
    index.add("in a word", "lower(w) = v")
    characters = [
        character
        for character in map(chr, range(0x110000))
        if unicodedata.category(character) not in ("Cn", "Cs", "Co") and character not in NEWER
    ]
    assert len(characters) > 140_000
    all_hold(
        index,
        [
            {
                "s": character,
                "l": lower(character),
                "u": upper(character),
                "w": f"A{character}",
                "v": f"a{lower(character)}",
            }
            for character in characters
        ],
    )


def test_white_space_of_every_character() -> None:
    index = Index()
    index.add("trimmed", "trim(s) = t")
    characters = [chr(code) for code in range(0x3100) if unicodedata.category(chr(code)) != "Cn"]
    expected = {
        character: "x" if character in WHITE_SPACE else f"{character}x{character}"
        for character in characters
    }
    all_hold(
        index,
        [{"s": f"{character}x{character}", "t": expected[character]} for character in characters],
    )


def test_buckets_are_hashes() -> None:
    random = Random(7)
    index = Index()
    index.add("plain", "bucket(s, 1000) = p")
    index.add("salted", "bucket(s, 97, 'größe') = q")
    events = []
    for length in [*range(300), 511, 512, 513, 1024, 1025, 5000]:
        text = "".join(random.choices("abcé日\U0001f600", k=length))
        plain = xxhash.xxh3_64_intdigest(f"\0{text}".encode()) % 1000
        salted = xxhash.xxh3_64_intdigest(f"größe\0{text}".encode()) % 97
        events.append({"s": text, "p": plain, "q": salted})
    all_hold(index, events)
