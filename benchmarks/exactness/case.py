"""One hard input, and the generator of its records, the same in every run."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from airflow_provider_blockread.options import FormatOption
from benchmarks.exactness.calls import Calls

Row = tuple[str, ...]
_WORDS = ("alpha", "beta", "gamma", "déjà", "数据", "x", "a longer stretch of words")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Files, their true records, and the options of the readers.

    `rows` is None where a reader has to refuse the input. `raw` rows, with escapes left in, are accepted as well. `bad`
    records must be recognisable. With `header`, the first of `rows` has the names of the columns.
    """

    title: str
    files: Mapping[str, bytes]
    rows: tuple[Row, ...] | None
    option: FormatOption  # for blockread
    calls: Calls
    raw: tuple[Row, ...] | None = None
    bad: int = 0
    header: bool = False


@dataclass(slots=True)
class Maker:
    """Generates records from its own seed."""

    chance: random.Random = field(default_factory=lambda: random.Random(7))  # noqa: S311 - data, not secrets

    def words(self) -> str:
        """Return one or more words."""
        return " ".join(self.chance.choices(_WORDS, k=self.chance.randint(1, 8)))

    def one_of(self, *values: str) -> str:
        """Return one of the values, or words."""
        return self.chance.choice((*values, self.words()))


def rows(count: int, msg: Callable[[int], str]) -> tuple[Row, ...]:
    """Return numbered records."""
    return tuple((str(number), msg(number)) for number in range(count))


def values(count: int, value: Callable[[int], str]) -> tuple[Row, ...]:
    """Return records of one column."""
    return tuple((value(number),) for number in range(count))
