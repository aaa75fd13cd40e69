"""Values that cross between Airflow's side and Spark's side. Offsets and sizes are bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from airflow_provider_blockread.options import FunctionCode, GenerationOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldIds:
    """The ids that an Iceberg table gives its columns; by default those of a table that does not exist yet."""

    mapping: str = "[]"  # Iceberg's name mapping, as JSON
    last: int = 0  # the greatest id that was ever given; the next column gets the next id


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where the tasks of an attempt write their data files: a staging folder, or a table's own location."""

    folder: str
    columns: tuple[str, ...] = ()  # names of the output's columns, if columns are matched without case
    field_ids: FieldIds | None = None  # the ids that columns of files carry; None for no ids


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputFile:
    """A data file: where a Spark task wrote it or, once it is journalled, where it is published."""

    uri: str
    size: int
    rows: int
    partition: Mapping[str, Any] = field(default_factory=dict)  # for a partitioned sink: values by column
    statistics: Mapping[str, Any] = field(default_factory=dict)  # for a table that keeps them, or of an archive
    source: str = ""  # for a published file: where its task wrote it


class Receipt(NamedTuple):
    """What reading one block reported; the same for every read of the same file version, range and format."""

    block: int  # the block's number in the window
    file: int  # the ledger's id of the file version
    start: int
    end: int
    data_offset: int  # first byte of the file that belongs to a record
    first_start: int  # first record start at or after `start`, found from the raw offset
    next_start: int  # first record start at or after `end`, found by walking past the end
    entry_state: int  # the format's state at `start`
    exit_state: int  # the format's state at `end`
    records: int  # rows + bad_records
    record_bytes: int
    terminator_bytes: int  # terminators and other framing around the records
    skipped_records: int  # blank lines and the like, which are not records, but whose bytes are accounted for
    skipped_bytes: int
    bad_records: int
    rows: int  # records handed to the user's function
    rows_out: int  # rows that the function returned and the writer got
    digest: int  # sum of record hashes modulo 2**64, or 0 if not requested
    stream_size: int = 0  # decoded bytes of a compressed file, all of which its first block reads; else 0
    consumed: int = 0  # compressed bytes that were decoded, up to a proper end of stream; else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupResult:
    """The sums of what one attempt at a group left in the work area; the receipts are beside it."""

    window: str
    generation: int
    group: int
    epoch: int
    manifest_hash: str
    receipts_uri: str
    receipts_hash: str
    blocks: int
    records: int
    bad_records: int
    rows: int  # rows in `outputs`
    bytes: int  # source bytes that the receipts account for
    outputs: tuple[OutputFile, ...]
    quarantined: tuple[OutputFile, ...] = ()
    seconds: float = 0.0  # of the Spark stages, without Spark's start
    reader_seconds: float = 0.0  # of the tasks of these stages, summed
    schema: str = ""  # of the output, as `columns_text` returns it; empty if no row was written
    first_bad: str = ""  # where a task found its first bad record, and why it is bad; empty if no record was left out


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSpec:
    """What every job of a window needs, except credentials."""

    kind: ClassVar[str]  # in the specification's file
    window: str
    feed: str
    generation: int
    manifest_uri: str
    manifest_hash: str
    folder: str  # of this job in the work area: for specification, answer, and other files
    options: GenerationOptions
    excluded: tuple[int, ...] = ()  # ids of files that this window leaves out
    part_states: tuple[tuple[int, int], ...] = ()  # (file, state) for files that are entered where an earlier part ends
    readers: int | None = None  # tasks that may run at once; None for no limit
    rate: int = 0  # bytes per second of one reader in earlier windows of the feed; 0 if none was measured

    def __str__(self) -> str:
        return f"feed {self.feed} window {self.window}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSpec(JobSpec):
    """One attempt at a group."""

    kind: ClassVar[str] = "read"
    group: int
    epoch: int
    mode: str  # "write", or "verify": read and prove, write nothing
    target: Target  # where tasks write
    entry_states_uri: str | None = None  # the result of a scan, if files span groups and must be scanned
    key: str = ""  # of the window
    loaded_at: str = ""  # when the generation began, in ISO 8601 with its zone
    group_states_uri: str = ""  # where the group keeps the states of its other files, for the next attempt

    def __str__(self) -> str:
        return f"feed {self.feed} window {self.window} group {self.group}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanSpec(JobSpec):
    """One try to scan the files that span groups."""

    kind: ClassVar[str] = "scan"
    epoch: int
    entry_states_uri: str  # where the states are written
    known_states_uri: str  # states that are already known


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """One try at a job: its specification, bound by a hash, and what is passed to its application in private.

    These are the secrets that seal what the application writes, empty if there is no private way to pass them, and the
    code of a function that has no import path. The hash binds the answer to window, generation, group and epoch, which
    are in the specification.
    """

    spec_uri: str
    spec_hash: str  # SHA-256 of the file, as hex
    readers: int | None = None  # tasks that may run at once, for the size of the application
    secret: str = field(default="", repr=False)  # of this try: seals its answer
    window_secret: str = field(default="", repr=False)  # seals what the window keeps for later tries
    code: FunctionCode | None = field(default=None, repr=False)

    @property
    def folder(self) -> str:
        """The folder of the specification and of the answer."""
        return self.spec_uri.rpartition("/")[0]
