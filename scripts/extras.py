"""Print what the named extras of pyproject.toml require, one requirement per line.

pip installs extras only together with the package itself, which would compile the engine once more.
"""

import sys
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
for extra in sys.argv[1:]:
    print(*project["optional-dependencies"][extra], sep="\n")
