"""`blockread merge`, with Spark on two cores."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.cli.place import Place

pytestmark = pytest.mark.spark

_BYTES = {f"{number:03}.bin": bytes(range(256)) * number + b"\r\n\x1f\x8b"[: number % 5] for number in range(1, 200)}
_FILES = {
    "plain.txt": b"\xef\xbb\xbfa\r\n",
    "packed.gz": b"\x1f\x8b\x08 no stream",
    "deep/er.log": b"\xff\xfe",
    "empty": b"",
    **_BYTES,
}


def test_files_are_merged_once_and_byte_for_byte(place: Place) -> None:
    """Each file is a row, whatever it holds; merged files have about the target's size, and their rows are in order."""
    place.put(_FILES)
    command = [
        "merge",
        str(place.source),
        "--output",
        f"{place.folder}/out",
        "--target-size",
        "1MiB",
        "--master",
        "local[2]",
    ]
    archives = f"{place.folder}/archives"
    archived = [archives if word.endswith("/out") else word for word in command]
    first, again, verified, kept, members = place.many(
        [*command, "--window", "w", "--json", *place.state],
        [*command, "--json", *place.state],
        ["windows", "verify", "w", "--master", "local[2]", "--json", *place.state],
        [*archived, "--sink", "archive", "--name", "archived", "--compression", "zstd", "--json", *place.state],
        ["members", "list", archives, "--json"],
    )

    tables = [pq.read_table(path).to_pylist() for path in sorted(Path(f"{place.folder}/out").glob("*.parquet"))]
    merged = {row["_file"].removeprefix(f"file://{place.source}/"): row for rows in tables for row in rows}
    assert (first.json["records"], first.json["files"], first.json["proof"]) == (len(_FILES), len(_FILES), "proven")
    assert sum(map(len, tables)) == len(_FILES)
    assert {name: row["value"] for name, row in merged.items()} == _FILES
    for name, row in merged.items():
        modified = datetime.fromtimestamp(place.source.joinpath(name).stat().st_mtime_ns // 1000 / 1e6, UTC)
        assert abs((row["_modified"] - modified).total_seconds()) < 1e-5
    for rows in tables:  # oldest first, as they were planned
        assert [row["_modified"] for row in rows] == sorted(row["_modified"] for row in rows)
    assert 5 <= len(tables) <= 7  # of 5.1 MB
    assert (kept.json["records"], kept.json["outputs"]) == (len(_FILES), len(tables))
    assert {member["file"]: member["length"] for member in members.json} == {
        f"file://{place.source}/{name}": len(data) for name, data in _FILES.items()
    }
    assert again.json["proof"] == "nothing to read"
    assert verified.json["records"] == len(_FILES)


def test_policies_that_mean_nothing_are_refused(place: Place) -> None:
    """Files are merged as they are: no record is bad, and nothing is decoded; other policies are taken."""
    place.put({"a": b"x"})
    command = ["merge", str(place.source), "--output", f"{place.folder}/out", "--master", "local[2]", *place.state]
    refused, merged = place.many(
        [*command, "--policy", "on_bad_record=drop"], [*command, "--policy", "proof=digest", "--json"]
    )

    assert "--policy on_bad_record has no meaning for merged files; give max_record_bytes or proof" in refused.error
    assert merged.json["records"] == 1
