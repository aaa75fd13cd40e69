"""What a proof takes and returns: the evidence of a generation, and the sums of what was read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from airflow_provider_blockread.blocks import Block, FileVersion
from airflow_provider_blockread.exchange.model import GroupResult, OutputFile, Receipt
from airflow_provider_blockread.options import FunctionOption, Policies
from airflow_provider_blockread.records import RecordFormat

#: Returns the current version of a block's file, or raises an error; called once a file at most.
Now = Callable[[], FileVersion]

#: Yields size and rows of files in order, from each file itself; an error about a file is raised in its place.
Count = Callable[[Sequence[OutputFile]], Iterator[tuple[int, int]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sums:
    """What a proof found in a generation."""

    records: int
    bad_records: int
    skipped_records: int
    rows: int
    bytes: int
    digest: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PartBorders:
    """Where, and in which states of the format, a proven generation began and ended reading a part."""

    file: int
    path: str
    start: int
    end: int
    first_start: int
    entry_state: int
    next_start: int
    exit_state: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSums:
    """What a proven generation read from one file."""

    file: int
    records: int
    bad_records: int
    bytes: int
    part: PartBorders | None = None  # None if the window reads the whole file


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What a proof checks."""

    name: str  # of the generation, for messages
    window: str
    blocks: Iterable[tuple[Block, Now]]  # the manifest's, without those of excluded files
    results: tuple[GroupResult, ...]  # one per group, by number
    receipts: Callable[[GroupResult], Iterator[Receipt]]  # of a group, in block order
    count: Count  # of output files
    count_bad: Count  # of files of the quarantine
    fmt: RecordFormat  # with which the blocks were read
    writes: bool  # False for a verification, which leaves no output
    policies: Policies  # what they say of bad records is checked
    keep: Callable[[Sequence[FileSums]], None] = lambda _: None  # receives the sums of files as they are proven
    function: FunctionOption  # says which rows to expect
    before: Mapping[int, tuple[int, int]] = field(default_factory=dict)  # by file: next start, state before its part
    renew: str = ""  # for messages: how to read a changed file as it is now
    carried: Collection[int] = ()  # groups read by an earlier generation, whose files may be gone or changed since
