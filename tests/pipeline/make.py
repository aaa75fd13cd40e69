"""A whole pipeline in a folder: what a test puts in, runs and finds published."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_blockread.errors import BlockReadError, ConflictError
from airflow_provider_blockread.ledger.overview.windows import list_windows
from airflow_provider_blockread.ledger.windows.queries import get_window
from airflow_provider_blockread.observer import LogObserver
from airflow_provider_blockread.options import (
    AsRead,
    FileSource,
    FormatOption,
    FunctionOption,
    GenerationOptions,
    Lines,
    Policies,
    Selection,
    SparkJob,
    Splitting,
)
from airflow_provider_blockread.steps import (
    Caller,
    Environment,
    PlanRequest,
    Published,
    ReadOutcome,
    Submitter,
    WindowRef,
    commit,
    plan,
    read,
    scan,
)
from airflow_provider_blockread.storage.stores import Stores
from tests.ledgers import open_ledger
from tests.pipeline.here import ReadHere as ReadHere  # noqa: PLC0414 - found here by all who use it
from tests.pipeline.here import write_group as write_group  # noqa: PLC0414
from tests.sinks.kinds import KINDS

START = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class Pipe:
    """One feed from `source` to `out`; its fields are the options of the next plan."""

    folder: Path
    submitter: Submitter
    feed: str = "feed"
    record_format: FormatOption = Lines()
    function: FunctionOption = AsRead()
    policies: Policies = Policies()
    merges: bool = False
    selection: Selection = Selection()
    block_size: int = 2**20
    group_bytes: int = 2**30
    kind: str = "parquet"  # of the sink
    sink_options: dict[str, Any] = field(default_factory=dict)
    out_name: str = "out"
    owner: str = "test"
    job: SparkJob = SparkJob(heartbeat_s=0.5, stale_after_s=60.0)
    messages: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    time: datetime = START

    def __post_init__(self) -> None:
        """Make the folders and the ledger."""
        self.source.mkdir(exist_ok=True)
        self.env = self.environment("ledger.db")

    @property
    def source(self) -> Path:
        """Where files land."""
        return self.folder / "in"

    @property
    def out(self) -> Path:
        """Where records go."""
        return self.folder / self.out_name

    @property
    def work(self) -> Path:
        """The work area."""
        return self.folder / f"{self.out_name}.blockread"

    def environment(self, name: str) -> Environment:
        """Return an environment with a ledger of that name."""
        ledger = open_ledger(f"sqlite:///{self.folder / name}", now=lambda: self.time)
        return Environment(
            ledger=ledger, stores=Stores(), observer=LogObserver(self.messages.append, self.warnings.append)
        )

    def close(self) -> None:
        """Close the ledger."""
        self.env.ledger.close()

    def pass_seconds(self, seconds: float) -> None:
        """Let time pass."""
        self.time += timedelta(seconds=seconds)

    def put(self, files: dict[str, bytes]) -> None:
        """Let files land."""
        for name, data in files.items():
            path = self.source / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)

    def uri(self, name: str) -> str:
        """Return a source file as the ledger names it."""
        return f"file://{self.source / name}"

    def request(self, key: str, clear_number: int = 0) -> PlanRequest:
        """Return what to plan."""
        sink = KINDS[self.kind].option(str(self.out), **self.sink_options)
        return PlanRequest(
            feed=self.feed,
            key=key,
            source=FileSource(str(self.source)),
            generation=GenerationOptions(
                sink=sink,
                record_format=self.record_format,
                function=self.function,
                policies=self.policies,
                merges=self.merges,
            ),
            owner=self.owner,
            selection=self.selection,
            splitting=Splitting(block_size=self.block_size, group_bytes=self.group_bytes),
            clear_number=clear_number,
        )

    def plan(self, key: str = "w", *, clear_number: int = 0) -> WindowRef:
        """Plan the window of a key; the reference goes through JSON, as XCom does it."""
        return WindowRef.from_json(plan(self.env, self.request(key, clear_number)).to_json())

    def read(self, ref: WindowRef, *, clear_number: int = 0, groups: Iterable[int] | None = None) -> list[ReadOutcome]:
        """Scan and read the groups."""
        scan(self.env, ref, submitter=self.submitter)
        return [
            read(
                self.env,
                ref,
                group,
                caller=Caller(owner=self.owner, clear_number=clear_number),
                job=self.job,
                submitter=self.submitter,
            )
            for group in (range(ref.groups) if groups is None else groups)
        ]

    def fails(self, error: type[BlockReadError], message: str) -> WindowRef:
        """Plan, and see the read fail with an error, and nothing published."""
        ref = self.plan()
        with pytest.raises(error, match=message):
            self.read(ref)
        with pytest.raises(ConflictError, match=r"are not done; clear their read tasks"):
            self.commit(ref)
        assert self.published() == []
        return ref

    def commit(self, ref: WindowRef) -> Published:
        """Prove and publish."""
        return commit(self.env, ref, owner=self.owner)

    def run(self, key: str = "w", *, clear_number: int = 0) -> Published:
        """Take the window of a key through all steps."""
        ref = self.plan(key, clear_number=clear_number)
        if ref.status == "read":
            self.read(ref, clear_number=clear_number)
        return self.commit(ref)

    def rows(self) -> list[dict[str, Any]]:
        """Return what a plain reader of the output directory finds."""
        return KINDS[self.kind].rows(str(self.out))

    def values(self) -> list[Any]:
        """Return the column `value`, sorted."""
        return sorted(row["value"] for row in self.rows())

    def published(self) -> list[str]:
        """Return the names of all files in the output."""
        return KINDS[self.kind].names(str(self.out))

    def attempt_files(self, name: str) -> list[Path]:
        """Return all files of that name in the work area, in order."""
        return sorted(self.work.rglob(name))

    def state(self, key: str = "w") -> str:
        """Return the state of the window's newest generation."""
        window = get_window(self.env.ledger, key, self.feed)
        summary = next(s for s in list_windows(self.env.ledger, self.feed) if s.window.id == window.id)
        return "none" if summary.generation is None else summary.generation.state

    def with_policies(self, **policies: Any) -> None:
        """Change some policies."""
        self.policies = dataclasses.replace(self.policies, **policies)
