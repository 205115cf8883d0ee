"""The commands on the page about the server give the output it shows."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tamis.serve import Settings
from tamis.serve.settings import Bounds

from .server import running

PAGE = Path(__file__).parents[2] / "docs" / "serve.md"


@pytest.mark.skipif(not shutil.which("curl"), reason="there is no curl")
def test_the_commands(tmp_path: Path) -> None:
    text = PAGE.read_text("utf-8")
    blocks = re.findall(r"^```bash\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    asking = [block for block in blocks if "curl" in block]
    assert len(asking) > 5
    with running(tmp_path / "rules", Settings(own=True)) as server:
        with server.client() as client:
            expression = "age between 18 and 25 and state in ('CA', 'OR', 'WA')"
            put = client.put("/subscriptions/young-west", json={"expression": expression})
            assert put.is_success
        for block in asking:
            commands = "".join(line for line in block.splitlines(True) if line[0] != "#")
            expected = [line[2:] for line in block.splitlines() if line[0] == "#"]
            here = commands.replace("localhost:8080", server.url.removeprefix("http://"))
            shell = subprocess.run(
                ["sh", "-ec", here.replace("curl -s", "curl -f -s")],
                stdout=subprocess.PIPE,
                check=True,
            )
            if expected:
                assert shell.stdout.decode().splitlines() == expected


def test_the_limits_are_those_of_the_page() -> None:
    text = PAGE.read_text("utf-8")
    bounds = Bounds()
    for number in (bounds.batch, bounds.connections, bounds.requests):
        assert f"{number:,}" in text
    for mebibytes in (bounds.body, bounds.bodies, bounds.line):
        assert f"{mebibytes >> 20} MiB" in text
    assert f"{bounds.header_bytes >> 10} KiB" in text
    assert f"| {bounds.streams}; {bounds.tails} |" in text
