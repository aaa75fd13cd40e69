"""Where the code under the rules is, ring by ring."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "airflow_provider_blockread"

RING_0 = ("__init__", "errors", "options", "blocks")
RING_1 = ("records", "storage", "exchange", "sinks", "proof")
RING_3B = (
    "get_provider_info",
    "task_group",
    "hooks",
    "operators",
    "sensors",
    "triggers",
    "decorators",
    "links",
    "plugins",
)
UNDER_SPARK = ("spark/engines/context.py", "spark/engines/rdd.py", "spark/data_source/source.py")
#: Loaded by the first request for a page, and by nothing else.
ON_API_SERVER = ("plugins/airflow_site.py", "plugins/connected_stores.py", "plugins/tasks.py", "plugins/users.py")

CODE_FOLDERS = ("airflow_provider_blockread", "benchmarks", "dags", "tests", "tools")
TEXT_FOLDERS = (*CODE_FOLDERS, ".ci", "docs")
TEXT_SUFFIXES = {
    "",
    ".cfg",
    ".css",
    ".html",
    ".ini",
    ".js",
    ".json",
    ".md",
    ".py",
    ".sh",
    ".sql",
    ".toml",
    ".yaml",
    ".yml",
}


def package_files(*names: str) -> list[Path]:
    """Return the package's Python files, of the named modules and folders only if any are named."""
    roots = [PACKAGE / name for name in names] or [PACKAGE]
    files = {file for root in roots for file in (root.with_suffix(".py"), *root.rglob("*.py")) if file.is_file()}
    return sorted(files)


def code_files() -> list[Path]:
    """Return every Python file of the repository."""
    return sorted(file for folder in CODE_FOLDERS for file in (ROOT / folder).rglob("*.py"))


def text_files() -> Iterator[Path]:
    """Yield every text file that people write; the lock file and what make has made are not among them."""
    yield from (file for file in sorted(ROOT.iterdir()) if file.is_file() and file.suffix in TEXT_SUFFIXES)
    for folder in TEXT_FOLDERS:
        files = sorted((ROOT / folder).rglob("*"))
        yield from (f for f in files if f.is_file() and f.suffix in TEXT_SUFFIXES and "__pycache__" not in f.parts)


def module_name(file: Path) -> str:
    """Return the dotted name by which `file` is imported."""
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
