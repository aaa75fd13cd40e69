"""What a sensor looks for: enough new files, or one that has waited long enough."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from airflow_provider_blockread.errors import FileMissingError
from airflow_provider_blockread.ledger.windows.queries import get_window
from airflow_provider_blockread.options import FileSource, Limits, Selection
from airflow_provider_blockread.steps.plan.planning import plan
from airflow_provider_blockread.steps.upkeep.withdrawing import abandon
from airflow_provider_blockread.steps.watch.new_files import (
    SHOWN,
    SHOWN_CHARACTERS,
    FilesFound,
    NewFilesQuery,
    find_new_files,
)
from airflow_provider_blockread.steps.watch.watching import record_listing
from airflow_provider_blockread.storage.listing.files import list_files
from tests.pipeline.make import START, Pipe


def land(pipe: Pipe, name: str, size: int = 10, age_s: float = 0.0) -> None:
    """Let a file land, that long before the pipe's present."""
    path = pipe.source / name
    path.write_bytes(b"x" * (size - 1) + b"\n")
    at = (START - timedelta(seconds=age_s)).timestamp()
    os.utime(path, (at, at))


def look(pipe: Pipe, **options: Any) -> FilesFound:
    """Look for files of the pipe's source."""
    options = {"source": FileSource(str(pipe.source))} | options
    query = NewFilesQuery(feed=pipe.feed, **options)
    assert NewFilesQuery.from_json(json.loads(json.dumps(query.to_json()))) == query
    return find_new_files(pipe.env, query)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({}, "enough"),
        ({"min_files": 3}, ""),
        ({"min_files": 2, "min_bytes": 31}, ""),
        ({"min_files": 2, "min_bytes": 30}, "enough"),
        ({"min_files": 3, "max_delay": 60.0}, "delay"),
        ({"min_files": 3, "max_delay": 61.0}, ""),
        ({"source_options": {"min_age": 61.0}}, ""),
        ({"source_options": {"min_age": 30.0}, "min_files": 2}, ""),
    ],
)
def test_when_there_is_enough(pipe: Pipe, options: dict[str, Any], why: str) -> None:
    """Both thresholds must be reached, or the oldest file be old enough; a file that may still grow does not count."""
    land(pipe, "a", age_s=60.0)
    land(pipe, "b", size=20)
    given = dict(options)
    source = FileSource(str(pipe.source), **given.pop("source_options", {}))

    assert look(pipe, source=source, **given).why == why


def test_what_was_found_is_told_in_little(pipe: Pipe) -> None:
    """Sums, the oldest time, and all paths where they are few; longer ones are fewer."""
    assert look(pipe) == FilesFound(feed=pipe.feed)
    land(pipe, "a", age_s=3.5)
    land(pipe, "b")
    few = look(pipe).to_json()
    assert (few["files"], few["bytes"], few["oldest"]) == (2, 20, "2025-12-31T23:59:56.500000Z")
    assert few["paths"] == [f"file://{pipe.source}/{name}" for name in "ab"]

    for number in range(30):
        land(pipe, f"{number:02}-{'n' * 200}")
    many = look(pipe).to_json()
    assert (many["files"], len(many["paths"])) == (32, SHOWN)
    assert len(json.dumps(many)) < SHOWN_CHARACTERS


def test_long_paths_are_told_in_less(pipe: Pipe) -> None:
    """However long names are, what is handed on stays small."""
    folder = pipe.source
    for _ in range(12):
        folder /= "d" * 250
    folder.mkdir(parents=True)
    for number in range(20):
        (folder / str(number)).write_bytes(b"1\n")
    found = look(pipe)

    assert found.files == 20
    assert 0 < len(found.paths) < 20
    assert sum(map(len, found.paths)) <= SHOWN_CHARACTERS


def test_what_a_plan_took_is_not_new_and_its_window_is_there(pipe: Pipe) -> None:
    """After a plan nothing is new, but for a run whose window is planned: a clear must not wait for files.

    Nor does it if that window was abandoned, since its plan takes nothing any more.
    """
    land(pipe, "a")
    ref = pipe.plan("k")

    assert look(pipe).files == 0
    assert look(pipe, key="other").why == ""
    assert look(pipe, key="k") == FilesFound(feed=pipe.feed, why="planned")
    land(pipe, "b")
    assert look(pipe, selection=Selection(max_age="1s")).files == 1
    abandon(pipe.env, get_window(pipe.env.ledger, ref.window), who="me")
    assert look(pipe, key="k") == FilesFound(feed=pipe.feed, why="planned")
    assert ref.files == 1


def test_a_missing_source_holds_nothing_yet(pipe: Pipe) -> None:
    """The log says what is missing."""
    found = look(pipe, source=FileSource((str(pipe.source), f"{pipe.folder}/later")))

    assert (found.files, found.why) == (0, "")
    assert "later does not exist" in "".join(pipe.messages)


def test_a_missing_root_hides_nothing_of_the_others(pipe: Pipe) -> None:
    """A sensor and a watch see the files of the roots that are there, before and behind it; a plan refuses."""
    source = FileSource((f"{pipe.folder}/later", str(pipe.source), f"{pipe.folder}/never"))
    land(pipe, "a")

    assert (look(pipe, source=source).files, look(pipe, source=source).why) == (1, "enough")
    assert record_listing(pipe.env, NewFilesQuery(feed="watched", source=source)).new == 1
    for name in ("later", "never"):
        assert "".join(pipe.messages).count(f"{name} does not exist") == 3
    with pytest.raises(FileMissingError, match="later does not exist"):
        list(list_files(pipe.env.stores, source, now_s=START.timestamp()))


@pytest.mark.slow
def test_files_of_earlier_listings_are_told(here: Pipe) -> None:
    """A window may read files though none is new: the log says that they were found before."""
    here.put({"a.txt": b"a\n", "b.txt": b"b\n", "c.txt": b"c\n"})
    here.selection = Selection(limits=Limits(max_files=2))
    here.run("one")
    here.messages.clear()
    here.run("two")

    assert "feed feed: 3 files seen, 0 new, 1 found earlier and in no window yet" in here.messages
    assert here.values() == ["a", "b", "c"]


def test_a_listing_that_finds_nothing_says_what_it_looked_for(pipe: Pipe) -> None:
    """A pattern in another case, or a hidden name, is a frequent mistake; files that are counted say why themselves."""
    land(pipe, "a.csv")
    land(pipe, "_b.CSV")
    for rules in ({"pattern": "*.CSV"}, {"exclude": "*.csv"}, {"min_age": 60.0}, {}):
        source = FileSource(str(pipe.source), **rules)
        plan(pipe.env, replace(pipe.request("w"), source=source))

    nothing = "feed feed: 0 files seen, 0 new"
    assert pipe.messages[0] == f"{nothing}; looked for pattern=['*.CSV'], hidden=False"
    assert f"{nothing}; looked for pattern=['**'], exclude=['*.csv'], hidden=False" in pipe.messages
    assert sum("looked for" in message for message in pipe.messages) == 2
