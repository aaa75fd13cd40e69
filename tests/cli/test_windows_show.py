"""What `blockread windows show` says of a window, beyond its state."""

from __future__ import annotations

import polars as pl

from tests.cli.place import Place
from tests.pipeline.make import Pipe, ReadHere


def test_windows_show_names_the_part_of_a_file_that_is_read(place: Place) -> None:
    """Each window of a file in parts shows which bytes it reads."""
    place.put({"big.log": b"line\n" * 20})
    limits = ("--max-bytes", "40", "--block-size", "20", "--output", str(place.folder / "out"))
    place.call("run", str(place.source), "--name", "logs", "--window", "first", *limits)

    shown = place.json("windows", "show", "first")
    assert [(part["start"], part["end"], part["records"]) for part in shown["parts"]] == [(0, 40, 8)]
    assert "reads only bytes 0 to 40 of file://" in place.call("windows", "show", "first").stdout


def test_windows_show_names_the_version_of_the_table(place: Place) -> None:
    """That which the window's commit made, for whoever reads the table as it was then."""
    pipe = Pipe(folder=place.folder, submitter=ReadHere(), kind="delta")
    for key in ("first", "second"):
        pipe.put({f"{key}.log": b"line\n"})
        pipe.run(key)
    pipe.close()

    versions = [place.json("windows", "show", key)["table_version"] for key in ("first", "second")]
    assert [pl.read_delta(str(pipe.out), version=int(version)).height for version in versions] == [1, 2]
    assert f"table version  {versions[1]}\n" in place.call("windows", "show", "second").stdout
