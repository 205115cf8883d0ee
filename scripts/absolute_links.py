"""Make the links of the README absolute and add the project's URLs, for a release.

    python scripts/absolute_links.py https://github.com/OWNER/NAME v1.2.3

The README is the project's page on PyPI, where relative links do not work. This changes README.md
and pyproject.toml in place, so that the sdist and the wheels built afterwards have absolute links.
"""

import re
import sys
from pathlib import Path

_FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
_BASE = re.compile(r"https://[\w.-]+(/[\w.-]+)+")
_TAG = re.compile(r"[\w.-]+(/[\w.-]+)*")


def absolute(text: str, root: Path, base: str, tag: str) -> str:
    """Make links to files of the repository in a Markdown text absolute; code is unchanged.

    Args:
        text: The text of a file in the root of the repository.
        root: The root of the repository.
        base: The address of the repository, as on GitHub.
        tag: The tag, branch or commit that links point to.

    Raises:
        ValueError: A link points to a file that does not exist.
    """

    def replace(found: re.Match[str]) -> str:
        mark, label, target = found.groups()
        path, _, _ = target.partition("#")
        if not path or "://" in target:
            return found[0]
        if not (root / path).exists():
            raise ValueError(f"README.md links to {path}, which does not exist")
        return f"{mark}[{label}]({base}/{'raw' if mark else 'blob'}/{tag}/{target})"

    parts = _FENCED.split(text)
    parts[::2] = [_LINK.sub(replace, part) for part in parts[::2]]
    return "".join(parts)


def project_urls(base: str, tag: str) -> str:
    """The table of URLs for pyproject.toml, which PyPI shows next to the README."""
    urls = {
        "Homepage": base,
        "Documentation": f"{base}/blob/{tag}/docs/index.md",
        "Changelog": f"{base}/blob/{tag}/CHANGELOG.md",
        "Issues": f"{base}/issues",
    }
    return "\n[project.urls]\n" + "".join(f'{name} = "{url}"\n' for name, url in urls.items())


def main(root: Path, base: str, tag: str) -> None:
    """Change README.md and pyproject.toml in a root folder.

    Raises:
        ValueError: An argument is not a URL or a tag, a link is broken, or the project already has
            URLs.
    """
    if not _BASE.fullmatch(base) or not _TAG.fullmatch(tag):
        raise ValueError(f"not the address of a repository and a tag: {base} {tag}")
    readme, project = root / "README.md", root / "pyproject.toml"
    settings = project.read_text(encoding="utf-8")
    if "[project.urls]" in settings:
        raise ValueError("pyproject.toml already has [project.urls]")
    text = absolute(readme.read_text(encoding="utf-8"), root, base, tag)
    readme.write_text(text, encoding="utf-8")
    project.write_text(settings + project_urls(base, tag), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("Usage: absolute_links.py BASE TAG")
    try:
        main(Path(__file__).parents[1], *sys.argv[1:])
    except ValueError as error:
        sys.exit(str(error))
