"""The changes before a release is built: links and URLs."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[1]
BASE, TAG = "https://github.com/someone/tamis", "v1.2.3"


def rewrite(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the script of a copy of the repository."""
    command = [sys.executable, str(root / "scripts/absolute_links.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The files that the script reads."""
    for name in ("README.md", "pyproject.toml", "ARCHITECTURE.md", "CONTRIBUTING.md"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copy(ROOT / "CHANGELOG.md", tmp_path)
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts/absolute_links.py", tmp_path / "scripts")
    return tmp_path


def test_every_link_becomes_absolute(copy: Path) -> None:
    before = (copy / "README.md").read_text(encoding="utf-8")
    done = rewrite(copy, BASE, TAG)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    after = (copy / "README.md").read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)]*)\)", after)
    assert len(targets) == len(re.findall(r"\]\(([^)]*)\)", before)) > 20
    for target in targets:
        path = re.fullmatch(rf"{BASE}/(?:blob|raw)/{TAG}/([^#]+)(#.*)?", target)
        assert path is not None, target
        assert (ROOT / path[1]).is_file()
    assert f"]({BASE}/raw/{TAG}/docs/figures/scaling.svg)" in after
    # Nothing else changes, including code.
    undone = after.replace(f"{BASE}/blob/{TAG}/", "").replace(f"{BASE}/raw/{TAG}/", "")
    assert undone == before


def test_the_project_has_addresses(copy: Path) -> None:
    before = tomllib.loads((copy / "pyproject.toml").read_text(encoding="utf-8"))
    assert rewrite(copy, BASE, TAG).returncode == 0
    after = tomllib.loads((copy / "pyproject.toml").read_text(encoding="utf-8"))
    urls = after["project"].pop("urls")
    assert after == before
    assert urls["Homepage"] == BASE
    assert urls["Changelog"] == f"{BASE}/blob/{TAG}/CHANGELOG.md"
    assert all(url.startswith(BASE) for url in urls.values())
    done = rewrite(copy, BASE, TAG)
    assert (done.returncode, "already" in done.stderr) == (1, True)


@pytest.mark.parametrize(
    "arguments",
    [(), (BASE,), ("github.com/a/b", TAG), (BASE, 'v1"'), (BASE, ""), (f"{BASE} ", TAG)],
)
def test_bad_arguments_change_nothing(copy: Path, arguments: tuple[str, ...]) -> None:
    done = rewrite(copy, *arguments)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert (copy / "README.md").read_bytes() == (ROOT / "README.md").read_bytes()


def test_a_link_to_nothing_is_an_error(copy: Path) -> None:
    (copy / "docs/tutorial.md").unlink()
    done = rewrite(copy, BASE, TAG)
    message = "README.md links to docs/tutorial.md, which does not exist\n"
    assert (done.returncode, done.stderr) == (1, message)
    assert (copy / "README.md").read_bytes() == (ROOT / "README.md").read_bytes()


def test_code_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'x'\n", encoding="utf-8")
    text = "```python\na[0](b)\n```\n\n[here](#there) and [out](https://example.org/x)\n"
    (tmp_path / "README.md").write_text(text, encoding="utf-8")
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts/absolute_links.py", tmp_path / "scripts")
    assert rewrite(tmp_path, BASE, TAG).returncode == 0
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == text


def test_the_workflow_rewrites_before_it_builds() -> None:
    jobs = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8"))
    for job in ("wheel", "sdist"):
        steps = jobs["jobs"][job]["steps"]
        rewrites = [n for n, step in enumerate(steps) if "absolute_links" in step.get("run", "")]
        builds = [n for n, step in enumerate(steps) if "maturin-action" in step.get("uses", "")]
        assert len(rewrites) == len(builds) == 1
        assert rewrites[0] < builds[0]
        assert "$GITHUB_SERVER_URL/$GITHUB_REPOSITORY" in steps[rewrites[0]]["run"]
        assert "$GITHUB_REF_NAME" in steps[rewrites[0]]["run"]
