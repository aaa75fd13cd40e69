"""The table of results: printed after each run, and kept in docs/benchmarks.md."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.harness.measure import Row

#: The page that has the table.
PAGE = Path(__file__).resolve().parents[2] / "docs" / "benchmarks.md"
HEADS = ("work", "Spark's own way", "DuckDB", "polars", "floor", "blockread", "ratio", "target", "load")
_HEADING = "## Results\n"

Cells = tuple[str, ...]


def cells_of(row: Row, load: str) -> Cells:
    """Return the cells of a row; `load` is that of the machine before the benchmark."""
    peers = (row.peers.get(name, "") for name in HEADS[2:4])
    return row.work, row.rival, *peers, row.floor, row.ours, row.ratio, row.verdict, load


def as_table(rows: Sequence[Cells]) -> str:
    """Return a Markdown table with aligned columns."""
    cells = [HEADS, *rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(HEADS))]
    lines = ["| " + " | ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) + " |" for row in cells]
    lines.insert(1, "|" + "|".join("-" * (w + 2) for w in widths) + "|")
    return "\n".join(lines)


def with_results(page: str, machine: str, rows: Sequence[Cells], *, keep: bool) -> str:
    """Return the page with these rows in its table, alone or each in the place of the earlier one for the same work.

    Rows of another machine, or of other versions, are not kept.
    """
    before, _, rest = page.partition(_HEADING)
    results, heading, after = rest.partition("\n## ")
    kept = {row[0]: row for row in _rows_in(results)} if keep and machine in results else {}
    kept.update((row[0], row) for row in rows)
    return f"{before}{_HEADING}\n{machine}.\n\n{as_table(list(kept.values()))}\n{heading}{after}"


def _rows_in(results: str) -> list[Cells]:
    lines = [line for line in results.splitlines() if line.startswith("| ")]
    return [tuple(cell.strip() for cell in line[2:-2].split(" | ")) for line in lines[1:]]
