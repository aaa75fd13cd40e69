"""Every benchmark that can be named can be started, and the page has the rows that were measured."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from benchmarks.__main__ import NAMES
from benchmarks.harness.data import csv_row, write_lines
from benchmarks.harness.lab import require_same
from benchmarks.harness.measure import Row, Times, beside_others
from benchmarks.harness.page import HEADS, PAGE, as_table, cells_of, with_results
from benchmarks.harness.peers import floor, peers


@pytest.mark.parametrize("name", NAMES)
def test_a_benchmark_can_be_imported(name: str) -> None:
    """Its module has what the program calls."""
    assert callable(import_module(f"benchmarks.{NAMES[name]}").run)


def test_new_rows_take_the_place_of_earlier_ones() -> None:
    """Other rows stay, and so does the rest of the page; those of another machine, or without `keep`, go."""
    rows = [cells_of(Row(work=work, rival="1 s", ours="2 s"), "0.1") for work in ("a", "b")]
    page = with_results("# Title\n\n## Results\n\n## More\n", "2 cores", rows, keep=True)
    newer = [cells_of(Row(work="a", rival="3 s", ours="4 s", target="< 5 s", met=True), "0.2")]

    assert page == f"# Title\n\n## Results\n\n2 cores.\n\n{as_table(rows)}\n\n## More\n"
    assert as_table([*newer, rows[1]]) in with_results(page, "2 cores", newer, keep=True)
    assert with_results(page, "4 cores", newer, keep=True) == with_results(page, "4 cores", newer, keep=False)
    assert as_table(newer) in with_results(page, "2 cores", newer, keep=False)


def test_the_page_has_a_table() -> None:
    """Its columns are those that the program writes."""
    heads = next(line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| work"))

    assert tuple(cell.strip() for cell in heads[1:-1].split("|")) == HEADS


def test_other_engines_read_the_same(tmp_path: Path) -> None:
    """DuckDB and polars write the same rows of csv, and the floors can be measured."""
    source, times = tmp_path / "requests.csv", Times(seconds=[1.0], cpu_seconds=[1.0])
    write_lines(source, 100_000, csv_row)

    with peers(("DuckDB", "polars"), "csv", source, tmp_path) as others:
        for other in others.values():
            other.prepare()
            other.run()
    assert require_same(tmp_path / "DuckDB", tmp_path / "polars", "id, user, epoch_us(ts), ms, msg")[0] > 1000

    least = floor("csv", source, tmp_path / "polars", tmp_path / "floor", rounds=1)
    row = beside_others("csv", dict.fromkeys(("Spark", "blockread"), times), (1, "MB"), {"Spark": 2}, least)
    assert row.verdict == ">= 2 x Spark, MISSED"
    assert set(least) == {"read", "Parquet"}
