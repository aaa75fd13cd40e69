"""How a table's columns change so that it accepts rows: columns are added, types are widened, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import pyarrow as pa

from airflow_provider_blockread.sinks.plain import nullable

_NAMED = 20
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Evolution:
    """The columns of rows that a table lacks, and those with wider types than the table's."""

    added: tuple[pa.Field, ...] = ()
    widened: tuple[pa.Field, ...] = ()

    @property
    def fields(self) -> pa.Schema:
        """All added and widened columns, each nullable, also inside."""
        return pa.schema([nullable(field) for field in (*self.added, *self.widened)])

    def __bool__(self) -> bool:
        return bool(self.added or self.widened)

    def __str__(self) -> str:
        """Return the first changes in words, and the number of further ones, short enough for an XCom."""
        changes = [f"column {field.name} {field.type} added" for field in self.added]
        changes += [f"column {field.name} widened to {field.type}" for field in self.widened]
        more = [f"{len(changes) - _NAMED} more columns"] if len(changes) > _NAMED else []
        return ", ".join([*changes[:_NAMED], *more])


@dataclass(frozen=True, kw_only=True)
class Comparison(Generic[T]):
    """Compares the columns of rows with those of a table, whose types are those of its format.

    `fits` returns whether a table's column can hold all values of a field, and `widens` whether it can be widened to.
    """

    table: str
    columns: Mapping[str, T]
    needed: Sequence[str]  # the columns that may not be null
    evolves: bool
    fits: Callable[[pa.Field, T], bool]
    widens: Callable[[pa.Field, T], bool] = lambda *_: False
    folds_case: bool = True  # names that differ only by case are the same

    def evolution(self, rows: pa.Schema | None) -> Evolution:
        """Return how the table changes for rows that are not refused; empty without rows."""
        if rows is None:
            return Evolution()
        added = tuple(field for field in rows if field.name not in self.columns)
        known = [field for field in rows if field.name in self.columns]
        return Evolution(added=added, widened=tuple(f for f in known if not self.fits(f, self.columns[f.name])))

    def refuse(self, rows: pa.Schema | None) -> str:
        """Return why the table refuses rows even if its schema is changed; empty if it does not, and without rows."""
        if rows is None:
            return ""
        folded = {name.lower(): name for name in self.columns} if self.folds_case else {}
        for field in rows:
            if field.name in self.columns:
                if problem := self._misfit(field, self.columns[field.name]):
                    return problem
            elif field.name.lower() in folded:
                there = folded[field.name.lower()]
                return (
                    f"{self.table} has column {there!r}, not {field.name!r}; rename it in the output, or set"
                    " case_sensitive=False and clear the run"
                )
            elif not self.evolves:
                return (
                    f"{self.table} has no column {field.name!r}; add it to the table, by hand or with"
                    " schema='add_columns', or leave it out of the output"
                )
        missing = [name for name in self.needed if name not in rows.names]
        return (
            f"{self.table} needs column {missing[0]!r}, which may not be null; add it to the output" if missing else ""
        )

    def _misfit(self, field: pa.Field, held: T) -> str:
        if self.fits(field, held) or (self.evolves and self.widens(field, held)):
            return ""
        return f"{self.table} has column {field.name!r} as {held}, not {field.type}; cast it to the table's type"
