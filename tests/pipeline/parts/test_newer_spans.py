"""Newer versions of csv files that span groups: blocks keep their numbers, and what a scan found of the others."""

from __future__ import annotations

import json

import pytest

from airflow_provider_blockread.options import Csv
from airflow_provider_blockread.steps.model import Published
from airflow_provider_blockread.steps.plan.choosing import FileChoice
from airflow_provider_blockread.steps.running import WindowRunner
from airflow_provider_blockread.steps.upkeep.rebuilding import RebuildRequest, WindowRange, rebuild
from tests.pipeline.make import Pipe, ReadHere

pytestmark = pytest.mark.slow

_OF_D = {17}  # a block of the file that is in one group, whose own reading scans it


def _reprocess(here: Pipe, path: str) -> Published:
    asked = RebuildRequest(range=WindowRange(window="w", feed="feed"), files=FileChoice(path=path))
    (done,) = rebuild(here.env, asked, WindowRunner(env=here.env, owner="me", job=here.job, submitter=here.submitter))
    return done


def _rows(count: int, text: str) -> bytes:
    return b"".join(f'{n},"{text}\n\n{n}"\n'.encode() for n in range(count))


def _publish(here: Pipe) -> None:
    """Publish three files, of which b spans groups, and c too."""
    here.put({"a.csv": b'900,"x"\n' * 20, "b.csv": _rows(40, "b"), "c.csv": _rows(40, "c"), "d.csv": b'901,"z"\n' * 15})
    here.record_format = Csv(header=False)
    here.block_size, here.group_bytes = 64, 128
    here.run()


def _found(here: Pipe) -> dict[str, list[tuple[int, str]]]:
    """Return the records by the first letter of their text, in order."""
    rows = sorted((int(n), str(text)) for n, text in (row.values() for row in here.rows()))
    return {letter: [row for row in rows if row[1][0] == letter] for letter in sorted({text[0] for _, text in rows})}


@pytest.fixture
def reader(here: Pipe) -> ReadHere:
    """What reads and scans, and remembers what it scanned."""
    assert isinstance(here.submitter, ReadHere)
    return here.submitter


@pytest.mark.parametrize("rows", [15, 40, 300])
def test_it_grows_and_shrinks(here: Pipe, reader: ReadHere, rows: int) -> None:
    """Its blocks are those of the newer version, in the same groups; what is known of others is not looked up again."""
    _publish(here)
    before, scanned = _found(here), len(set(reader.scanned))
    reader.scanned.clear()
    here.put({"b.csv": _rows(rows, "y")})
    done = _reprocess(here, "b.csv")

    assert _found(here) == {k: before[k] for k in "cxz"} | {"y": [(n, f"y\n\n{n}") for n in range(rows)]}
    assert done.records == rows + 75
    assert 0 < len(set(reader.scanned)) < scanned
    columns = [json.loads(path.read_bytes())["columns"] for path in here.work.glob("**/schema-*.json")]
    assert columns == columns[:1] * 2  # one under each plan, and they stay those of the window
    reader.scanned.clear()
    assert (here.run(clear_number=1).records, _found(here)["c"]) == (rows + 75, before["c"])
    assert set(reader.scanned) <= _OF_D


def test_sources_of_other_groups_may_be_gone(here: Pipe, reader: ReadHere) -> None:
    """Those of files that span groups, too: how their blocks are entered is known."""
    _publish(here)
    before = _found(here)
    reader.scanned.clear()
    for name in "bc":
        (here.source / f"{name}.csv").unlink()
    here.put({"d.csv": b'902,"w"\n'})
    done = _reprocess(here, "d.csv")

    assert (done.records, _found(here)) == (101, {k: before[k] for k in "bcx"} | {"w": [(902, "w")]})
    assert set(reader.scanned) <= _OF_D


def test_without_what_was_known_it_is_found_anew(here: Pipe, reader: ReadHere) -> None:
    """A plan without the states of the first one scans all files that span groups."""
    _publish(here)
    scanned = set(reader.scanned)
    reader.scanned.clear()
    for path in here.work.glob("**/states-*.json"):
        path.unlink()
    here.put({"b.csv": _rows(41, "y")})

    assert _reprocess(here, "b.csv").records == 116
    assert set(reader.scanned) == scanned - _OF_D
