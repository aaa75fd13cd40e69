"""The page of options holds every option, with its default."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest
import yaml

from airflow_provider_blockread.options import (
    FORMATS,
    SINKS,
    ArrowFunction,
    AsRead,
    DataFrameFunction,
    EventFiles,
    FileList,
    FileSource,
    Limits,
    Policies,
    Selection,
    SparkJob,
    Splitting,
    Sql,
    StorageEvents,
    Value,
)

_ROOT = Path(__file__).parents[2]
_PAGE = (_ROOT / "docs" / "options.md").read_text("utf-8")
_SECTIONS = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", _PAGE, re.MULTILINE | re.DOTALL))
_OPTIONS = "airflow_provider_blockread.options"
_VALUES = (
    *(FileSource, FileList, EventFiles, Selection, Limits, Splitting, AsRead, ArrowFunction),
    *(DataFrameFunction, Sql, Policies, StorageEvents, *SINKS.values(), SparkJob),
)


def _rows(section: str) -> dict[str, list[str]]:
    """Return the cells behind the first of each row of a table of options, by the option."""
    rows = [re.split(r"(?<!\\) \| ", line.strip("| ")) for line in section.splitlines() if line.startswith("| `")]
    return {name.strip("`"): cells for name, *cells in rows}


@pytest.mark.parametrize("value", _VALUES)
def test_every_option_is_on_the_page(value: type[Value]) -> None:
    """Each section holds the options of its value and no others; words and numbers are its defaults."""
    rows = _rows(_SECTIONS[value.__name__])
    fields = {f.name: f.default for f in dataclasses.fields(value)}  # type: ignore[arg-type]

    assert list(rows) == list(fields)
    for name, default in fields.items():
        shown = rows[name][0].strip("`")
        if isinstance(default, str) and default:
            assert shown == f'"{default}"'.replace("\n", r"\n"), name
        elif isinstance(default, (bool, float)) or (isinstance(default, int) and default < 2**20):
            assert shown == str(default), name


@pytest.mark.parametrize("name", FORMATS)
def test_every_option_of_a_format_is_on_the_page(name: str) -> None:
    """A row names the formats that have the option."""
    rows, kind = _rows(_SECTIONS["Formats"]), FORMATS[name]
    for field in dataclasses.fields(kind):
        of = rows[field.name][0]
        assert of.startswith("all") or f"`{kind.__name__}`" in of, field.name


def test_no_option_on_the_page_is_of_no_format() -> None:
    """What the page lists exists."""
    known = {field.name for kind in FORMATS.values() for field in dataclasses.fields(kind)}

    assert set(_rows(_SECTIONS["Formats"])) == known


def test_every_class_is_in_the_reference() -> None:
    """Options, and what the provider registry lists for DAG authors, have signatures there."""
    pages = "".join(page.read_text("utf-8") for page in (_ROOT / "docs" / "reference").glob("*.md"))
    shown = re.findall(r"^::: (\S+)$", pages, re.MULTILINE)
    registry = yaml.safe_load((_ROOT / ".astro-registry.yaml").read_text("utf-8"))
    listed = [entry["module"] for kind in ("decorators", "operators", "sensors") for entry in registry[kind]]
    options = [value for value in (*_VALUES, *FORMATS.values()) if value.__module__ not in shown]

    assert [name for name in listed if name not in shown] == []
    assert [value.__name__ for value in options if f"{_OPTIONS}.{value.__name__}" not in shown] == []
