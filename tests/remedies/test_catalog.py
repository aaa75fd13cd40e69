"""Each error message has a test that does what the message advises, or a reason why no test can."""

from __future__ import annotations

import ast
from functools import cache

import pytest

from tests.architecture.tree import ROOT
from tests.remedies.catalog import (
    catalog_airflow,
    catalog_data,
    catalog_data_source,
    catalog_ledger,
    catalog_pipeline,
    catalog_tables,
    catalog_upkeep,
)
from tests.remedies.catalog.inventory import every_message, messages, unread_messages
from tests.remedies.catalog.model import Entry, Explained, Remedy
from tests.remedies.catalog.worded_elsewhere import WORDED_ELSEWHERE

#: The folders and files whose messages each catalog holds; the pipeline's holds all others.
_DATA = ("blocks/", "options/", "records/", "storage/")

_PIPELINE = (catalog_airflow, catalog_data_source, catalog_ledger, catalog_pipeline, catalog_tables, catalog_upkeep)
CATALOGS = {"data": catalog_data.CATALOG, "pipeline": [entry for one in _PIPELINE for entry in one.CATALOG]}
SIDES = sorted(CATALOGS)

SAMPLE = """
_ADVICE = "call {}"

def reads(size, path):
    msg = f"{path} is {size} long; " + _ADVICE.format("home")
    raise OptionsError(msg)

def refuses(flag):
    if flag:
        raise _gone("a file", lost="found" if flag else "lost")
    msg = "first"
    if not flag:
        msg = "second"
    raise SourceError(msg) from None

def _gone(what, lost):
    return FileMissingError(f"{what} is {lost}; look for {where(what)}")

def where(what):
    return f"it at {what}"

def passes(error):
    raise type(error)(str(error))

def is_python_s():
    raise ValueError("no error of ours")
"""


def test_every_reading_of_a_message_is_found() -> None:
    """Names, constants, branches and the functions that word an error are read; what passes an error on is not."""
    assert [m.text for m in messages(SAMPLE, "sample.py")] == [
        "{} is {} long; call {}",
        "a file is found; look for it at a file",
        "a file is lost; look for it at a file",
        "first",
        "second",
    ]


@pytest.mark.parametrize("side", SIDES)
def test_every_message_has_one_entry(side: str) -> None:
    """A new error needs an entry, and so a test of its remedy; two entries for one message are one too many."""
    catalog = CATALOGS[side]
    wrong = [
        f"{m.file}:{m.line} {m.text!r}: {[e.says for e in catalog if e.fits(m)] or 'no entry'}"
        for m in every_message()
        if (side == "data") == m.file.startswith(_DATA) and sum(e.fits(m) for e in catalog) != 1
    ]

    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("side", SIDES)
def test_every_entry_has_a_message(side: str) -> None:
    """An entry whose message is gone, or is worded otherwise now, goes too."""
    assert [e for e in CATALOGS[side] if not any(e.fits(m) for m in every_message())] == []


def test_every_message_that_cannot_be_read_is_listed() -> None:
    """An error whose text another function words, or another error, is listed with where its remedies are."""
    assert set(unread_messages()) == set(WORDED_ELSEWHERE)
    tests = [test for _, tests in WORDED_ELSEWHERE.values() for test in tests]
    assert [test for test in tests if test.partition("::")[2] not in _tests_of(test.partition("::")[0])] == []


@pytest.mark.parametrize("side", SIDES)
def test_every_test_is_there(side: str) -> None:
    """A remedy's test exists under the name that the catalog gives; a reason is a sentence."""
    assert [e for e in CATALOGS[side] if not _stands(e)] == []


def _stands(entry: Entry) -> bool:
    if isinstance(entry, Remedy):
        file, _, name = entry.test.partition("::")
        return name in _tests_of(file)
    return isinstance(entry, Explained) and len(entry.why.split()) > 3


@cache
def _tests_of(file: str) -> set[str]:
    path = ROOT / file
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if path.is_file() else ()
    return {node.name for node in nodes if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}
