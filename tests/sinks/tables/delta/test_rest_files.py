"""The files that take the place of other writers' files, without a window's rows, in a Delta table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from airflow_provider_blockread.errors import ProofError, SourceError
from airflow_provider_blockread.exchange.model import OutputFile
from airflow_provider_blockread.sinks.protocol import Change
from airflow_provider_blockread.sinks.tables.delta.rows import RowDeletion
from tests.sinks.kinds import Bench

#: A deletion vector of a file's first row.
_FIRST = {
    "storageType": "i",
    "pathOrInlineDv": "^Bg9^0rr910000000000iXQKl0rr91000005c8Xg00000",
    "sizeInBytes": 34,
    "cardinality": 1,
}
_OPTIONS = {"audit": ["_window"], "on_rewritten": "delete_rows"}


def made(place: Path, **options: Any) -> tuple[Bench, dict[str, list[OutputFile]]]:
    """Return a table with two windows, and the files of each."""
    bench = Bench("delta", str(place), _OPTIONS | options)
    files = {}
    for window, numbers in {"w1": [5, 1, 9], "w2": [4, 2, 7], "w3": [0, 8, 3]}.items():
        writer = bench.writer(window=window)
        writer.write(pa.RecordBatch.from_pydict({"x": numbers, "k": ["a b"] * 3, "_window": [window] * 3}))
        files[window], bench.marker = writer.close(), bench.marker_of(window)
        bench.apply(bench.steps(files[window]))
    return bench, files


def undo(bench: Bench, files: dict[str, list[OutputFile]]) -> None:
    """Undo the first window."""
    bench.sink.undo(bench.placed(files["w1"]), bench.marker_of("w1", change=Change.WITHDRAW))


def test_they_claim_no_order(tmp_path: Path) -> None:
    """Their rows are in the order of the file that they replace."""
    bench, files = made(tmp_path / "out", sort_by=["x"])
    DeltaTable(bench.place).optimize.compact()
    undo(bench, files)
    (rest,) = tmp_path.rglob("rest-*.parquet")

    assert pq.read_metadata(rest).row_group(0).sorting_columns == ()
    assert pl.read_delta(bench.place)["x"].sort().to_list() == [0, 2, 3, 4, 7, 8]


def test_files_of_other_windows_are_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their names say whose rows they hold, also where the column of the window is one of too many to have bounds."""
    bench = Bench("delta", str(tmp_path / "out"), _OPTIONS)
    files: dict[str, list[OutputFile]] = {}
    opened: list[str] = []
    for window in ("w1", "w2", "w3"):
        if window == "w3":
            DeltaTable(bench.place).optimize.compact()
        writer = bench.writer(window=window)
        writer.write(pa.RecordBatch.from_pydict({f"c{number}": [1] for number in range(40)} | {"_window": [window]}))
        files[window], bench.marker = writer.close(), bench.marker_of(window)
        bench.apply(bench.steps(files[window]))
    count = RowDeletion._count
    monkeypatch.setattr(RowDeletion, "_count", lambda self, *of: opened.append(of[0]) or count(self, *of))
    undo(bench, files)

    assert [uri for uri in opened if "/part-w" in uri] == []
    assert sorted(pl.read_delta(bench.place)["_window"]) == ["w2", "w3"]


@pytest.mark.parametrize("option", ["sort_by", "encodings", "codecs"])
def test_a_file_without_the_column_of_an_option(tmp_path: Path, option: str) -> None:
    """Another writer has left the column out."""
    write_deltalake(tmp_path / "out", pa.table({"_window": ["w1"] * 3 + ["w2"]}))
    value = {"sort_by": ["x"], "encodings": {"x": "plain"}, "codecs": {"x": "zstd"}}[option]
    bench, files = made(tmp_path / "out", **{option: value}, schema="add_columns")
    DeltaTable(bench.place).delete("x IS NOT NULL")
    undo(bench, files)

    assert bench.case.rows(bench.place) == [{"x": None, "k": None, "_window": "w2"}]


def test_a_table_that_is_partitioned_by_the_column_alone(tmp_path: Path) -> None:
    """Whole files go."""
    bench, files = made(tmp_path / "out", audit=[], partition_by=["_window"])
    write_deltalake(bench.place, DeltaTable(bench.place).to_pyarrow_table(), mode="overwrite")
    undo(bench, files)

    assert sorted(row["x"] for row in bench.case.rows(bench.place)) == [0, 2, 3, 4, 7, 8]


def test_none_stays_when_one_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing was committed then, whatever has failed."""
    bench, files = made(tmp_path / "out")
    table = pl.read_delta(bench.place).to_arrow()
    DeltaTable(bench.place).delete()
    for _ in range(2):
        write_deltalake(bench.place, table, mode="append")
    rest = RowDeletion._rest
    left = [True]

    def fails(self: RowDeletion, uri: str, window: str) -> list[OutputFile]:
        if not left:
            msg = "the store is gone"
            raise SourceError(msg)
        left.pop()
        return rest(self, uri, window)

    monkeypatch.setattr(RowDeletion, "_rest", fails)
    with pytest.raises(SourceError, match="the store is gone"):
        undo(bench, files)
    assert (left, list(tmp_path.rglob("rest-*.parquet"))) == ([], [])


@pytest.mark.parametrize(("folder", "columns"), [("out", []), ("a b", []), ("out", ["k"])])
def test_rows_that_a_vector_has_deleted(tmp_path: Path, folder: str, columns: list[str]) -> None:
    """They are refused, whatever is escaped in the path of the table or of a partition, and so do not come back."""
    bench, files = made(tmp_path / folder, partition_by=columns)
    DeltaTable(bench.place).optimize.compact()
    log = tmp_path / folder / "_delta_log"
    found = map(json.loads, (log / f"{3:020}.json").read_text().splitlines())
    (added,) = (action["add"] for action in found if "add" in action)
    features = {"readerFeatures": ["deletionVectors"], "writerFeatures": ["deletionVectors"]}
    actions = [
        {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, **features}},
        {"remove": {"path": added["path"], "dataChange": True, "deletionTimestamp": 0}},
        {"add": added | {"deletionVector": _FIRST}},
    ]
    (log / f"{4:020}.json").write_text("".join(f"{json.dumps(action)}\n" for action in actions))
    with pytest.raises(ProofError, match="has deleted rows beside those of the window, by a deletion vector"):
        undo(bench, files)
