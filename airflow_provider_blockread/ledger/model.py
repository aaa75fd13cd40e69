"""What the ledger takes and returns: frozen values that are independent of connections.

Sizes and `bytes` are bytes, times are aware and UTC, epochs and generations count from 1, groups from 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from airflow_provider_blockread.blocks import BlockGroup, FileVersion
from airflow_provider_blockread.options import GenerationOptions
from airflow_provider_blockread.proof.model import Sums


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovered:
    """What a listing recorded, in numbers of files."""

    seen: int = 0
    new: int = 0  # paths not known before
    modified: int = 0  # known paths, in a version not known before
    waiting: int = field(default=0, compare=False)  # known from earlier listings, and in no window yet
    returned: int = 0  # versions known but never read (missing, changed, ignored) that wait to be read again
    ignored: int = 0  # modified after they were taken, and left out by `on_modified="ignore"`; counted at every listing
    missing: int = 0  # pending ones that this listing no longer saw
    untimed: int = 0  # not taken, and left out since no time is known for them; this and the next two at every listing
    before_start: int = 0  # left out by `start_from`
    too_old: int = 0  # left out by `max_age`
    samples: tuple[str, ...] = ()  # some paths of the ignored ones
    untimed_samples: tuple[str, ...] = ()
    cut_short: tuple[str, ...] = ()  # read in part, and modified or gone since, without the rest
    held_back: Mapping[str, int] = field(default_factory=dict)  # files that the listing did not show, by reason


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePart:
    """The range of a file that one of several windows reads."""

    file: int
    start: int
    end: int
    number: int  # among the file's parts, from 1
    is_last: bool


class PendingFile(NamedTuple):
    """A file version that no window has taken, or of which windows have taken the preceding parts."""

    file: int
    version: FileVersion
    part: FilePart | None = None  # that the window reads; None for the whole file
    late: bool = False  # its time is outside the planned interval


@dataclass(frozen=True, slots=True, kw_only=True)
class LateFiles:
    """Pending files of intervals that are already planned, and the keys of some of their windows."""

    files: int = 0
    windows: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NewWindow:
    """A plan about to be frozen, whose manifest is already written."""

    manifest_uri: str
    manifest_hash: str
    files: int
    blocks: int
    bytes: int
    groups: Sequence[BlockGroup]
    options: dict[str, Any]  # of the first generation
    clear_number: int
    run: str | None = None  # the Airflow run that requested it
    parts: Sequence[FilePart] = ()  # of files that it only partly reads
    readers: int | None = None  # tasks that may read it at once, in all groups together


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A window; without manifest and sums unless its state is `open`."""

    id: str
    feed: str
    key: str
    sequence: int
    state: str  # planning | open | empty | abandoned
    manifest_uri: str
    manifest_hash: str
    files: int
    blocks: int
    groups: int
    bytes: int
    owner: str  # who planned it
    created_at: datetime
    plan_hash: str  # of the manifest that it was planned with
    heartbeat_at: datetime  # of the planner
    pruned_at: datetime | None = None  # since when its details are gone
    readers: int | None = None  # tasks that may read it at once; None for no limit
    scan_epoch: int = 0  # of the newest try to scan it
    scanned_at: datetime | None = None  # when that try had found the states


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """One pass over a window; `sums` are zero until it is proven."""

    window: str
    number: int
    state: str  # reading | proven | publishing | published | verified | failed | superseded
    mode: str  # write | verify
    options: dict[str, Any]
    options_digest: str
    clear_number: int
    run: str | None  # the Airflow run that requested it
    publish_epoch: int
    publish_owner: str | None  # who proves or publishes it
    publish_heartbeat_at: datetime | None
    table_version: str | None  # made by publishing, if the sink is a table
    schema_changes: str | None  # made to the table by publishing, in words
    sums: Sums
    error: str | None
    created_at: datetime
    proven_at: datetime | None
    published_at: datetime | None
    manifest_uri: str | None = None  # of its own plan, if it reads newer versions; None for the window's
    manifest_hash: str | None = None
    announced_at: datetime | None = None  # when a task of Airflow told the output's readers
    given_up_by: str | None = None  # by whom, for a rebuild or verification that was not finished

    def as_options(self) -> GenerationOptions:
        """Return the options as values.

        Raises:
            OptionsError: when they were written by another version of this package.
        """
        return GenerationOptions.from_json(self.options)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRef:
    """Which group of which generation of which window."""

    window: str
    generation: int
    group: int

    def __str__(self) -> str:
        return f"group {self.group} of window {self.window} generation {self.generation}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A group of a generation: its plan, its newest attempt and, if that is done, what it reported."""

    ref: GroupRef
    state: str  # pending | running | done | failed
    epoch: int
    owner: str | None
    heartbeat_at: datetime | None
    stale_after_s: float  # without a heartbeat, after which the owner counts as dead
    clear_number: int
    planned: BlockGroup
    records: int
    bad_records: int
    rows: int
    bytes: int  # read
    result_uri: str | None
    result_hash: str | None
    error: str | None
    started_at: datetime | None
    finished_at: datetime | None
    spec_hash: str | None = None  # of the newest attempt's job specification, if its driver may outlive its owner
    application: str | None = None  # its id on Spark, or the driver's on its cluster; None until known
    holder: int = 0  # which of the successive tries that waited for the newest attempt holds it
    blocks_done: int = 0  # by the newest attempt so far, as its driver says; these counts are only for display
    records_done: int = 0
    bad_records_done: int = 0
    bytes_done: int = 0
    progress_at: datetime | None = None  # when these counts changed last; None before the first ones
    spark_ui: str | None = None  # the address of the application's live pages, as its driver says


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """The right to run a group, until another attempt has a higher epoch, or a later try has adopted this attempt.

    `excluded` are file ids to leave out; `holder` distinguishes the tries that have held one epoch.
    """

    ref: GroupRef
    epoch: int
    owner: str
    excluded: tuple[int, ...] = ()
    holder: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlog:
    """Files of a feed that no window has taken."""

    files: int = 0
    bytes: int = 0
    oldest_ns: int | None = None  # the selection time of the first of them, ns since the epoch
    seen_at: datetime | None = None  # when the listing began that saw one of them first


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupOutcome:
    """What a finished attempt at a group reported, and its result file."""

    result_uri: str
    result_hash: str
    records: int
    bad_records: int
    rows: int
    read_bytes: int
    reader_seconds: float = 0.0  # of its tasks, summed


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """The right to prove and publish a generation, until another attempt has a higher epoch.

    `state` is the generation's state when it was claimed: `reading` or `proven` (prove it), `publishing` (continue with
    the journal), `published` or `verified` (nothing is left to do).
    """

    window: str
    generation: int
    epoch: int
    owner: str
    state: str

    def __str__(self) -> str:
        return f"window {self.window} generation {self.generation}"


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalEntry:
    """One step of publishing: `add` moves source to target, `remove` removes target."""

    seq: int
    kind: str  # output | quarantine | commit, of a table
    action: str  # add | remove
    source: str
    target: str
    size: int
    state: str = "planned"  # planned | done


@dataclass(frozen=True, slots=True, kw_only=True)
class Withdrawal:
    """A window that is given up, and what happens to its files."""

    window: str
    files: str  # pending | excluded
    who: str
    finished_at: datetime | None = None  # None: output may still be there, and files may not have moved yet


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A command that processes windows one after another; if it is repeated before its end, it is the same request."""

    id: int
    action: str  # rebuild | reprocess
    arguments: dict[str, Any]
    who: str
    began_at: datetime
