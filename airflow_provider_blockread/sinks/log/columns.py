"""The columns of a directory, and how they change for rows with other columns."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from airflow_provider_blockread.sinks.evolution import Comparison, Evolution
from airflow_provider_blockread.sinks.plain import plain

_WIDER = (
    (pa.int8(), pa.int16(), pa.int32(), pa.int64()),
    (pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()),
    (pa.float16(), pa.float32(), pa.float64()),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """The columns of a directory, and those of them by which it is partitioned."""

    schema: pa.Schema
    partition_by: tuple[str, ...]

    def compared(self, rows: Columns, place: str, *, evolves: bool) -> tuple[str, Evolution]:
        """Return the reason why a directory of these columns refuses rows, empty if it does not, and how it changes."""
        if self.partition_by != rows.partition_by:
            names = ", ".join(self.partition_by) or "nothing"
            return f"{place} is partitioned by {names}; give partition_by the same columns", Evolution()
        comparison = Comparison(
            table=place,
            columns={field.name: field.type for field in self.schema},
            needed=(),
            evolves=evolves,
            fits=lambda field, held: wider(plain(field.type), held) == held,
            widens=lambda field, held: wider(plain(field.type), held) is not None,
        )
        return comparison.refuse(rows.schema), comparison.evolution(rows.schema)


def wider(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """Return the type, of the two, that can hold all values of both, or None if neither can."""
    if one == other or pa.types.is_null(other):
        return one
    if pa.types.is_null(one):
        return other
    if pa.types.is_decimal128(one) and pa.types.is_decimal128(other) and one.scale == other.scale:
        return max(one, other, key=lambda kind: kind.precision)
    row = next((row for row in _WIDER if one in row and other in row), None)
    return None if row is None else max(one, other, key=row.index)
