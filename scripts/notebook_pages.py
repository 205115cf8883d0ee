"""A mkdocs hook that makes a page of each notebook in docs, with its saved outputs.

The tests run the notebooks and compare their outputs, so the pages are correct.
"""

import json
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for file in list(files):
        if file.src_uri.endswith(".ipynb"):
            notebook = json.loads(Path(str(file.abs_src_path)).read_text(encoding="utf-8"))
            name = file.src_uri.removesuffix(".ipynb")
            page = File.generated(config, f"{name}.md", content=write(notebook, Path(name).name))
            files.append(page)
    return files


def write(notebook: dict[str, Any], name: str) -> str:
    """The notebook as Markdown, with a link to itself below its title."""
    title, *cells = notebook["cells"]
    parts = ["".join(title["source"]), f"[Download the notebook]({name}.ipynb)"]
    for cell in cells:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
        else:
            parts.append(f"```python\n{source}\n```")
            shown = "".join(text(output) for output in cell["outputs"]).rstrip("\n")
            if shown:
                parts.append(f"```text\n{shown}\n```")
    return "\n\n".join(parts) + "\n"


def text(output: dict[str, Any]) -> str:
    """The text of an output."""
    return "".join(output["text"] if "text" in output else output["data"]["text/plain"])
