"""Partitions as sinks name them: a column, or an Iceberg transform of a column."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from airflow_provider_blockread.errors import OptionsError

#: Iceberg's transforms, and what each adds to the name of its column.
TRANSFORMS = {
    "year": "year",
    "month": "month",
    "day": "day",
    "hour": "hour",
    "bucket": "bucket",
    "truncate": "trunc",
}

#: Transforms of times; a column has at most one of them.
OF_TIMES = ("year", "month", "day", "hour")

_CALL = re.compile(rf"({'|'.join(TRANSFORMS)})\((.*)\)", re.DOTALL)
_WIDTH = re.compile(r"\s*([1-9][0-9]{0,8})\s*,\s*(.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Partition:
    """What rows are partitioned by: the value of a column (`identity`), or the result of a transform of it."""

    column: str
    transform: str = "identity"
    width: int = 0  # number of buckets, or of what truncate keeps

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the partition for text such as `day`, `day(at)`, `bucket(16, id)` or `truncate(4, name)`.

        Raises:
            OptionsError: when a transform lacks its number, or has one too many.
        """
        call = _CALL.fullmatch(text)
        if call is None:
            return cls(text)
        transform, inside = call.groups()
        if transform in OF_TIMES and inside.strip():
            return cls(inside.strip(), transform)
        if transform not in OF_TIMES and (found := _WIDTH.fullmatch(inside)):
            return cls(found[2].strip(), transform, int(found[1]))
        msg = (
            f"partition_by {text!r} is not a transform; write day(at) with a column (or year, month, hour), or"
            " bucket(16, id) or truncate(4, name) with a number before the column"
        )
        raise OptionsError(msg)

    @property
    def is_plain(self) -> bool:
        """Whether rows are partitioned by the column's own values."""
        return self.transform == "identity"

    @property
    def name(self) -> str:
        """The partition's name, as Iceberg's own writers choose it: `day`, `at_day`, `id_bucket`, `name_trunc`."""
        return self.column if self.is_plain else f"{self.column}_{TRANSFORMS[self.transform]}"


def distinct(kind: str, option: str, columns: Sequence[str]) -> None:
    """Refuse an option that names a column twice.

    Raises:
        OptionsError: naming the option.
    """
    if len(set(columns)) != len(columns):
        msg = f"{kind}: {option} names a column twice; name each once"
        raise OptionsError(msg)


def parse_partitions(kind: str, texts: Sequence[str], *, transforms: bool) -> tuple[Partition, ...]:
    """Return the partitions that an option lists.

    Raises:
        OptionsError: when one is given twice, or is a transform that the sink does not support.
    """
    distinct(kind, "partition_by", texts)
    found = tuple(map(Partition.parse, texts))
    distinct(kind, "partition_by", [partition.name for partition in found])
    of_times = [partition.column for partition in found if partition.transform in OF_TIMES]
    if len(set(of_times)) != len(of_times):
        msg = (
            f"{kind}: partition_by has two time transforms of one column; keep the finer one, which also serves coarser"
            " filters"
        )
        raise OptionsError(msg)
    if not transforms and (transform := next((p for p in found if not p.is_plain), None)):
        msg = (
            f"{kind}: partition_by {transform.transform} is a transform, which only Iceberg tables support; partition"
            " by a column that a function adds"
        )
        raise OptionsError(msg)
    return found
