"""The notebooks of the documentation run, and give their saved outputs."""

from pathlib import Path
from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")

NOTEBOOKS = sorted((Path(__file__).parents[1] / "docs" / "notebooks").glob("*.ipynb"))


def shown(notebook: Any) -> list[str]:
    """The text of all outputs, cell by cell."""
    texts = []
    for cell in notebook.cells:
        if cell.cell_type == "code":
            outputs = (each.get("text") or each["data"]["text/plain"] for each in cell.outputs)
            texts.append("".join(outputs))
    return texts


def test_there_are_notebooks() -> None:
    assert len(NOTEBOOKS) >= 2


@pytest.mark.filterwarnings("ignore")  # from the kernel's libraries
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_shows_what_it_was_saved_with(path: Path, tmp_path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    saved = shown(notebook)
    assert any(saved)
    resources = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources=resources
    ).execute()
    assert shown(notebook) == saved
