"""The log of a directory: readers of it see whole windows, at any moment, and after whatever publishers die of."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from airflow_provider_blockread.errors import FileMissingError, OptionsError, ProofError
from airflow_provider_blockread.exchange.model import OutputFile
from airflow_provider_blockread.sinks.log import entries
from airflow_provider_blockread.sinks.log.entries import PublishedLog
from airflow_provider_blockread.sinks.log.reading import published_files, read_published
from airflow_provider_blockread.sinks.names import AttemptName
from airflow_provider_blockread.sinks.protocol import Change, State
from airflow_provider_blockread.sinks.registry import make_sink
from tests.sinks.kinds import STORES, Bench, opened

_KIND = "parquet with a log"
_TEXTS = ("text with a log", "csv with a log", "json_lines with a log")
_EVOLVES = {"schema": "add_columns"}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """A directory with a log."""
    return Bench(_KIND, str(tmp_path / "out"))


def staged(bench: Bench, rows: dict[str, Any], window: str) -> list[OutputFile]:
    """Return the files of a task that wrote some rows."""
    bench.marker = bench.marker_of(window)
    name = AttemptName(window=window, generation=1, group=0, epoch=1, attempt=0)
    writer = bench.sink.writer(bench.target, name, None)
    writer.write(pa.RecordBatch.from_pydict(rows))
    return writer.close()


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    kind=st.sampled_from([_KIND, *_TEXTS]),
    first=st.integers(1, 3),
    kept=st.integers(0, 3),
    new=st.integers(0, 3),
    undone=st.booleans(),
)
def test_readers_see_whole_windows_between_any_two_steps(
    kind: str, first: int, kept: int, new: int, *, undone: bool
) -> None:
    """Nothing, then all of a window; all of it, then all of what replaces it; all of it, then nothing."""
    with opened(kind) as bench:
        seen = []

        def apply(files: list[OutputFile], earlier: list[OutputFile]) -> None:
            for step in bench.steps(files, earlier):
                bench.apply([step])
                seen.append(tuple(bench.values()))

        old = bench.stage(*"abc"[:first])
        apply(old, [])
        files = old[:kept] + bench.stage(*"xyz"[:new], generation=2)
        apply(files, old)
        if undone:
            bench.undo(files)
            seen.append(tuple(bench.values()))

        before, after = ("aabbcc"[: 2 * first], "aabbcc"[: 2 * min(kept, first)] + "xxyyzz"[: 2 * new])
        whole = [(), tuple(before), tuple(after), *([()] if undone else [])]
        assert [one for one, last in zip(seen, [None, *seen], strict=False) if one != last] == [
            one for one, last in zip(whole, [None, *whole], strict=False) if one != last
        ]


def test_an_entry_that_is_written_late_changes_nothing(bench: Bench) -> None:
    """A publisher that was overtaken wakes up before its entry: readers see the generation that came after it."""
    old = bench.stage("old")
    late, marker = bench.steps(old), bench.marker
    bench.apply(late)
    bench.apply(bench.steps(bench.stage("new", generation=2), old))
    (entry,) = [step for step in late if step.target.endswith("windows")]
    bench.sink.apply([entry], marker, lambda: None)

    assert bench.values() == ["new", "new"]


def test_what_a_lost_generation_had_published_is_taken_back(bench: Bench) -> None:
    """Readers see the generation before it again; a repetition changes nothing, and later generations come through."""
    old = bench.publish("old")
    half = bench.stage("half", generation=2)
    steps = bench.steps(half, old)
    bench.apply([step for step in steps if step.action == "add"])
    assert bench.values() == ["half", "half"]
    marker = bench.marker_of(generation=2, change=Change.TAKE_BACK)

    assert [bench.sink.undo(bench.placed(half, 2), marker) for _ in range(2)] == [1, 0]
    assert bench.values() == ["old", "old"]
    bench.apply(bench.steps(bench.stage("new", generation=3), old))
    assert bench.values() == ["new", "new"]


def test_a_file_that_is_gone_is_an_error_to_readers(bench: Bench) -> None:
    """A dataset that was opened before a rebuild never returns half of a window; opened again it has the new one."""
    old = bench.publish("old", "more")
    before = read_published(bench.place)
    bench.apply(bench.steps(bench.stage("new", generation=2), old))

    with pytest.raises(FileNotFoundError):
        before.to_table()
    assert bench.values() == ["new", "new"]


def test_a_directory_without_a_log_cannot_be_read_by_it(tmp_path: Path) -> None:
    """The error says how to get one; a window that is published so is read."""
    place = str(tmp_path / "out")
    with pytest.raises(FileMissingError, match="publish into it with log=True"):
        read_published(place)
    Bench(_KIND, place).publish("a")

    assert read_published(place).count_rows() == 2


@pytest.mark.parametrize("kind", [_KIND, *_TEXTS])
def test_all_windows_of_a_directory_are_logged_or_none(tmp_path: Path, kind: str) -> None:
    """Turned on or off later, readers would miss windows: refused before anything is read, and taken as it was."""
    logged, plain = str(tmp_path / "logged"), str(tmp_path / "plain")
    without = kind.partition(" ")[0]
    Bench(kind, logged).publish("a")
    with pytest.raises(OptionsError, match="would not name this window; set log=True"):
        Bench(without, logged)
    Bench(without, plain).publish("a")
    with pytest.raises(OptionsError, match="set log=False, or publish into an empty directory"):
        Bench(kind, plain)

    Bench(kind, logged).publish("b", window="w2")
    Bench(without, plain).publish("b", window="w2")
    Bench(kind, str(tmp_path / "empty")).publish("b", window="w2")
    assert Bench(kind, logged).values() == ["a", "a", "b", "b"]


def test_text_is_read_by_its_files(tmp_path: Path) -> None:
    """Its columns have no declared types, so any reader of csv takes the names, of compressed files, too."""
    place = str(tmp_path / "out")
    with pytest.raises(FileMissingError, match="publish into it with log=True"):
        published_files(place)
    bench = Bench("csv with a log", place, {"compression": "gzip"})
    old = bench.publish("a", "b")
    bench.apply(bench.steps(bench.stage("x", generation=2), old))
    with pytest.raises(OptionsError, match="does not state the types of its columns; open what published_files lists"):
        read_published(place)

    assert pl.read_csv(published_files(place))["value"].to_list() == ["x", "x"]


def test_columns_without_a_log(tmp_path: Path) -> None:
    """Nothing would know which columns there are: refused, and with a log they are added."""
    with pytest.raises(OptionsError, match="needs log=True"):
        Bench("parquet", str(tmp_path / "out"), _EVOLVES)

    Bench(_KIND, str(tmp_path / "out"), _EVOLVES).publish("a")


def test_partition_columns_come_back_as_they_were(tmp_path: Path) -> None:
    """The log knows their types, which folders do not; other partitions are refused, and these are taken."""
    bench = Bench(_KIND, str(tmp_path / "out"), {"partition_by": ["day", "id"]})
    days = pa.array([date(2026, 5, 1), None])
    rows = {"value": ["a", "b"], "day": days, "id": ["01", "x/y=%z"]}
    bench.apply(bench.steps(staged(bench, rows, "w1")))

    found = read_published(bench.place).to_table()
    assert found.schema.field("day").type == pa.date32()
    assert sorted(found.to_pylist(), key=str) == sorted(pa.table(rows).to_pylist(), key=str)
    by_day = make_sink(STORES, replace(bench.option, partition_by=["day"]))
    with pytest.raises(OptionsError, match="is partitioned by day, id; give partition_by the same columns"):
        by_day.prepare(pa.table(rows).schema, "")
    bench.sink.prepare(pa.table(rows).schema, "")


@pytest.mark.parametrize(
    "kind", [pa.time32("s"), pa.date64(), pa.list_(pa.date64()), pa.string_view(), pa.timestamp("s")], ids=str
)
def test_types_that_files_do_not_keep(bench: Bench, kind: pa.DataType) -> None:
    """A later window has the same declared columns, though footers name other types."""
    rows = {"x": pa.nulls(1, kind)}
    for window in ("w1", "w2"):
        bench.sink.prepare(pa.table(rows).schema, "")
        bench.apply(bench.steps(staged(bench, rows, window)))

    assert read_published(bench.place).to_table()["x"].to_pylist() == [None, None]


def test_a_folder_above_that_is_named_like_a_partition(tmp_path: Path) -> None:
    """Only what is below the directory says of partitions."""
    bench = Bench(_KIND, str(tmp_path / "id=7" / "out"), {"partition_by": ["id"]})
    bench.apply(bench.steps(staged(bench, {"id": [1, 2], "msg": ["a", "b"]}, "ab12")))

    rows = read_published(bench.option.uri).to_table().to_pylist()
    assert sorted((row["id"], row["msg"]) for row in rows) == [(1, "a"), (2, "b")]


def test_columns_that_two_publishers_add_at_once(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """If they cannot be one, the second publisher changes nothing; if they can, both are there."""
    bench = Bench(_KIND, bench.place, _EVOLVES)
    bench.publish("a")
    other = Bench(_KIND, bench.place, _EVOLVES)
    text = bench.steps(staged(bench, {"value": ["b"], "more": ["text"]}, "w2"))
    marker = bench.marker
    racing = [lambda: other.apply(other.steps(staged(other, {"value": ["c"], "more": [3]}, "w3")))]
    described = entries._described

    def raced(*arguments: Any) -> bytes:
        if racing:
            racing.pop()()
        return described(*arguments)

    monkeypatch.setattr(entries, "_described", raced)
    with pytest.raises(ProofError, match="has column 'more' as int64, not string; cast it"):
        bench.sink.apply(text, marker, lambda: None)
    assert len(list(STORES.list_names(f"{bench.place}/_blockread/schemas"))) == 2
    assert bench.values() == ["a", "a", "c"]

    racing.append(lambda: other.apply(other.steps(staged(other, {"value": ["d"], "x": [4]}, "w4"))))
    bench.apply(bench.steps(staged(bench, {"value": ["e"], "y": ["5"]}, "w5")))
    assert read_published(bench.place).schema.names == ["value", "more", "x", "y"]


def test_a_column_of_two_types_is_named(bench: Bench) -> None:
    """If two that raced have both died before they looked again, readers learn which column it is, and what to do."""
    log = PublishedLog(STORES, STORES.canonical(bench.place))
    for window, kind in (("w1", pa.int64()), ("w2", pa.string())):
        rows = entries.Columns(schema=pa.schema([("n", kind)]), partition_by=())
        STORES.write_bytes_atomic(
            f"{log.schemas}/0-{window}.json", entries._described(rows, bench.marker_of(window), "")
        )
    with pytest.raises(ProofError, match="column 'n' at the same time, as int64 and as string; undo one"):
        read_published(bench.place)
    STORES.remove(f"{log.schemas}/0-w2.json")

    assert read_published(bench.place).schema == pa.schema([("n", pa.int64())])


def test_a_directory_in_another_store() -> None:
    """Whatever fsspec opens is read, with its options."""
    place = "memory://logged/"
    bench = Bench(_KIND, place)
    bench.publish("a")
    bench.publish("b", window="w2")

    assert sorted(read_published(place).to_table()["value"].to_pylist()) == ["a", "a", "b", "b"]


def test_no_rows_at_all(bench: Bench) -> None:
    """A log whose windows are all gone is an empty dataset, with the columns of the directory."""
    bench.undo(bench.publish("a"))

    found = read_published(bench.place).to_table()
    assert (found.num_rows, found.schema.names) == (0, ["value"])


def test_a_step_whose_file_is_gone_is_unknown(bench: Bench) -> None:
    """Its columns are in no footer any more."""
    (file,) = bench.stage("x")
    steps = bench.steps([file])
    assert bench.states(steps) == [State.NOT_APPLIED] * 3
    bench.stores.remove(file.uri)

    assert bench.states(steps) == [State.UNKNOWN, State.UNKNOWN, State.NOT_APPLIED]


@pytest.mark.parametrize("path", ["../secret.parquet", "day=1/../../secret.parquet", "//secret.parquet"])
def test_no_file_elsewhere_is_read(bench: Bench, tmp_path: Path, path: str) -> None:
    """An entry that somebody else wrote leads out of the directory nowhere; without it all is read again."""
    bench.publish("a")
    (tmp_path / "secret.parquet").write_bytes(b"")
    forged = tmp_path / "out/_blockread/windows/ffff-0000000004.jsonl"
    forged.write_text(f'{{"path": "{path}", "size": 1, "rows": 1}}\n')
    with pytest.raises((ProofError, FileNotFoundError)):
        read_published(bench.place).to_table()
    forged.unlink()

    assert read_published(bench.place).to_table()["value"].to_pylist() == ["a", "a"]
