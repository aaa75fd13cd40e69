"""The quarantine: bad records, whole, published with their window by the same journal, and never into the output."""

from __future__ import annotations

import re
import resource
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest

from airflow_provider_blockread.blocks import Block, FileVersion
from airflow_provider_blockread.errors import ProofError
from airflow_provider_blockread.exchange.model import Target
from airflow_provider_blockread.ledger.windows.journal import journal_entries
from airflow_provider_blockread.options import Lines, ParquetSink, Policies
from airflow_provider_blockread.sinks.names import AttemptName
from airflow_provider_blockread.sinks.registry import make_sink
from airflow_provider_blockread.spark.tasks.quarantine import QUARANTINE_SCHEMA, Quarantine
from airflow_provider_blockread.storage.stores import Stores
from tests.pipeline.dying import Died, dying
from tests.pipeline.make import Pipe

_FILES = {"a.txt": b"one\n\xff two\nthree\n", "b.txt": b"\xfe\n\xfd\nfour\n"}


@pytest.fixture
def bad(here: Pipe) -> Pipe:
    """Two groups with bad lines, which are to be quarantined."""
    here.put(_FILES)
    here.group_bytes, here.policies = 10, Policies(on_bad_record="quarantine")
    return here


def _folder(pipe: Pipe) -> Path:
    return pipe.work / "quarantine"


def _kept(pipe: Pipe) -> list[dict[str, Any]]:
    files = sorted(map(str, _folder(pipe).rglob("*.parquet")))
    rows = ds.dataset(files).to_table().to_pylist() if files else []
    return sorted(rows, key=lambda row: (row["path"], row["offset"]))


def test_bad_records_are_published_beside_the_output(bad: Pipe) -> None:
    """Each is there with its feed, place, reason and bytes; the summary counts them and says where they are."""
    done = bad.run()

    assert [(r["feed"], r["path"], r["block"], r["offset"], r["length"], r["bytes"]) for r in _kept(bad)] == [
        ("feed", bad.uri("a.txt"), 0, 4, 5, b"\xff two"),
        ("feed", bad.uri("b.txt"), 1, 0, 1, b"\xfe"),
        ("feed", bad.uri("b.txt"), 1, 2, 1, b"\xfd"),
    ]
    assert all("UTF-8" in row["reason"] for row in _kept(bad))
    assert (done.records, done.bad_records, done.rows, done.outputs) == (6, 3, 3, 2)
    assert done.quarantine_uri == f"file://{_folder(bad)}/feed/{done.window}"
    assert not list(bad.work.rglob("g1/**/quarantine/*.parquet"))
    assert bad.values() == ["four", "one", "three"]


@pytest.mark.parametrize(("rule", "fate"), [("quarantine", "quarantined"), ("drop", "dropped")])
def test_a_reader_of_the_log_sees_an_example(bad: Pipe, rule: str, fate: str) -> None:
    """Each group's warning says where its first bad record is, and what is wrong with it."""
    bad.with_policies(on_bad_record=rule)
    bad.run()
    named = [f"the lines record at byte {at} of {bad.uri(name)} block" for at, name in ((4, "a.txt"), (0, "b.txt"))]
    warned = [message for message in bad.warnings if "group" in message]

    assert [fate in message and place in message for message, place in zip(warned, named, strict=True)] == [True, True]
    assert all("not UTF-8" in message for message in warned)


def test_nothing_bad_leaves_no_quarantine(bad: Pipe) -> None:
    """Without bad records there is no folder, and none is named."""
    bad.put({"a.txt": b"one\n", "b.txt": b"two\n"})
    done = bad.run()

    assert (done.quarantine_uri, _folder(bad).exists()) == ("", False)


@pytest.mark.slow
@pytest.mark.parametrize("fix", ["the policy", "the format"])
def test_a_later_generation_takes_the_place_of_the_one_before(bad: Pipe, fix: str) -> None:
    """A rebuild replaces the quarantine with the output, and takes it away when nothing is bad any more."""
    bad.run()
    before = {path.name for path in _folder(bad).rglob("*.parquet")}
    bad.run(clear_number=1)
    rebuilt = {path.name for path in _folder(bad).rglob("*.parquet")}
    if fix == "the policy":
        bad.with_policies(on_bad_record="drop")
    else:
        bad.record_format = Lines(encoding="binary")
    bad.run(clear_number=2)

    assert (len(before), len(rebuilt), before & rebuilt) == (2, 2, set())
    assert _kept(bad) == []


def test_a_verification_writes_none(bad: Pipe) -> None:
    """Reading again to prove leaves the published quarantine as it is."""
    bad.run()
    before = {path: path.stat().st_mtime_ns for path in _folder(bad).rglob("*.parquet")}
    bad.with_policies(on_rerun="verify")
    done = bad.run(clear_number=1)

    assert (done.status, done.bad_records) == ("verified", 3)
    assert {path: path.stat().st_mtime_ns for path in _folder(bad).rglob("*.parquet")} == before
    assert not list(bad.work.rglob("g2/**/quarantine"))


@pytest.mark.parametrize("most", [2, "49.9%"])
def test_too_many_are_not_published(bad: Pipe, most: int | str) -> None:
    """The window fails and names the file with most of them; a corrected limit publishes it, and so does a fix."""
    bad.with_policies(max_bad_records=most)
    ref = bad.plan()
    bad.read(ref)
    found = f"3 of 6 records are bad, more than max_bad_records={most!r} allows; 2 of them are in {bad.uri('b.txt')}"
    with pytest.raises(ProofError, match=re.escape(found)):
        bad.commit(ref)
    assert (bad.values(), _kept(bad)) == ([], [])

    bad.with_policies(max_bad_records="50%")
    assert bad.run(clear_number=1).bad_records == 3

    bad.with_policies(max_bad_records=0, on_rerun="verify")
    assert bad.run(clear_number=2).status == "verified"

    bad.with_policies(on_rerun="rebuild")
    with pytest.raises(ProofError, match="3 of 6 records are bad"):
        bad.run(clear_number=3)
    assert (len(_kept(bad)), bad.values()) == (3, ["four", "one", "three"])  # as before


def test_strays_are_swept(bad: Pipe) -> None:
    """What a dead publisher of this window left in the quarantine goes when the window is published."""
    ref = bad.plan()
    bad.read(ref)
    stray = _folder(bad) / "feed" / ref.window / f"part-w{ref.window}-g7-00000-e1-t0-0000.parquet"
    other = stray.with_name("part-wother-g1-00000-e1-t0-0000.parquet")
    stray.parent.mkdir(parents=True)
    for path in (stray, other):
        path.write_bytes(b"left")
    bad.commit(ref)

    assert (stray.exists(), other.exists()) == (False, True)


def test_a_crash_between_its_moves_is_made_good(bad: Pipe) -> None:
    """A commit that dies after some moves is finished by the next one, quarantine and output alike."""
    ref = bad.plan()
    bad.read(ref)
    with dying("publish_file", 3), pytest.raises(Died):
        bad.commit(ref)
    bad.commit(ref)
    entries = journal_entries(bad.env.ledger, ref.window, 1)

    assert [(entry.action, entry.state) for entry in entries] == [("add", "done")] * 4
    assert (len(_kept(bad)), bad.values()) == (3, ["four", "one", "three"])


@pytest.mark.slow
def test_huge_and_many_bad_records_stay_within_memory(tmp_path: Path) -> None:
    """A large record is kept whole; many small ones become few batches, and memory stays flat."""
    name = AttemptName(window="ab", generation=1, group=0, epoch=1, attempt=0)
    sink = make_sink(Stores(), ParquetSink(str(tmp_path / "out"), row_group_bytes=2**22))
    writer = sink.writer(Target(folder=str(tmp_path)), name, QUARANTINE_SCHEMA)
    quarantine = Quarantine("feed", writer)
    version = FileVersion(path="file:///a", size=2**30, mtime_ns=0)
    block = Block(number=0, group=0, file=1, version=version, start=0, end=2**30, part_start=0, part_end=2**30)
    huge = bytes(2**25) + b"end"
    quarantine.add(block, 0, "large", huge)
    base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for offset in range(100_000):
        quarantine.add(block, offset, "small", b"x" * 1000)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - base
    (file,) = quarantine.close()
    table = ds.dataset(file.uri.removeprefix("file://")).to_table()

    assert file.rows == table.num_rows == 100_001
    assert table["bytes"][0].as_py() == huge
    assert grown < 64 * 2**10  # KiB
