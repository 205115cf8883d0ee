"""npm's `json-rules-engine`: JSON rules, run one after the other in a Node.js process."""

import shutil
import subprocess
from pathlib import Path

from benchmarks.peers.normal import refuse
from benchmarks.peers.process import BUILD, Process

VERSION = "7.3.1"


class Engine(Process):
    """Undefined facts are allowed; tests of them are false."""

    def __init__(self, missing: str) -> None:
        folder = BUILD / "json-rules-engine"
        if shutil.which("npm") is None:
            raise refuse("anything: there is no npm")
        if not (folder / "node_modules").is_dir():
            folder.mkdir(parents=True, exist_ok=True)
            package = f"json-rules-engine@{VERSION}"
            command = ["npm", "install", "--silent", "--no-package-lock", "--prefix", ".", package]
            subprocess.run(command, cwd=folder, check=True)
        script = folder / "peer.js"
        script.write_bytes(Path(__file__).with_name("json_rules_engine.js").read_bytes())
        super().__init__(missing, ["node", str(script)], folder)
