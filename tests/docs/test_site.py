"""The documentation as a site: built with warnings as errors, complete, and without anything from elsewhere."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

_ROOT = Path(__file__).parents[2]
_CONFIG = _ROOT / "zensical.toml"
_LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "object": "data", "link": "href"}
_ONLY_NAMED = {"canonical", "next", "prev"}  # links that a browser does not load


def _build(folder: Path, *, whole: bool) -> subprocess.CompletedProcess[str]:
    """Build the pages in `docs` of a folder, with this project's settings, into `dist/site` there."""
    text = _CONFIG.read_text("utf-8").replace('paths = ["."]', f'paths = ["{_ROOT}"]')
    text = text if whole else re.sub(r"^nav = \[\n.*?^\]$", "", text, flags=re.MULTILINE | re.DOTALL)
    (folder / _CONFIG.name).write_text(text, "utf-8")
    return subprocess.run(
        [Path(sys.executable).with_name("zensical"), "build", "--strict"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(_ROOT / "docs", folder / "docs")
    done = _build(folder, whole=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return folder / "dist" / "site"


def _pages(nav: list[Any]) -> list[str]:
    """Return the pages of a navigation, in order."""
    found = []
    for entry in nav:
        for target in entry.values():
            found += _pages(target) if isinstance(target, list) else [target]
    return found


class _Loads(HTMLParser):
    """Collects what a browser loads for a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the address of a resource."""
        given = dict(attrs)
        if tag in _LOADED and given.get("rel") not in _ONLY_NAMED:
            self.found.append(given.get(_LOADED[tag]) or "")


def test_every_page_is_built_and_has_its_place(site: Path) -> None:
    """Each page of docs/ is in the navigation of zensical.toml, once."""
    pages = _pages(tomllib.loads(_CONFIG.read_text("utf-8"))["project"]["nav"])

    assert sorted(pages) == sorted(str(path.relative_to(_ROOT / "docs")) for path in (_ROOT / "docs").rglob("*.md"))
    assert [page for page in pages if not (site / page).with_suffix(".html").is_file()] == []


def test_a_browser_loads_nothing_from_elsewhere(site: Path) -> None:
    """Scripts, styles, fonts and pictures are files of the site."""
    elsewhere = {}
    for path in site.rglob("*.html"):
        page = _Loads()
        page.feed(path.read_text("utf-8"))
        if wrong := [address for address in page.found if re.match(r"(https?:)?//", address)]:
            elsewhere[path.name] = wrong
    styles = [
        path.name for path in site.rglob("*.css") if re.search(r"url\(['\"]?(https?:)?//", path.read_text("utf-8"))
    ]

    assert elsewhere == {}
    assert styles == []


def test_the_reference_is_generated(site: Path) -> None:
    """From docstrings, and from the commands of the command line."""
    operators = (site / "reference" / "operators.html").read_text("utf-8")
    commands = (site / "reference" / "cli.html").read_text("utf-8")

    assert "the plan's window" in operators
    assert "--dataframe-function" in commands
    assert "Leave the file PATH out" in commands


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("[there](#home)", 0),
        ("[gone](nowhere.md)", 1),
        ("[gone](#nowhere)", 1),
        ("::: airflow_provider_blockread.nowhere", 1),
    ],
)
def test_a_dead_link_ends_the_build(tmp_path: Path, text: str, code: int) -> None:
    """Pages, anchors and objects that are not there are errors."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text(f"# Home\n\n{text}\n", "utf-8")

    assert _build(tmp_path, whole=False).returncode == code
