"""A whole pipeline in a folder: what a test puts in, runs and finds published."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds

from airflow_provider_blockread.blocks import Block
from airflow_provider_blockread.errors import BlockReadError
from airflow_provider_blockread.exchange.model import GroupResult, JobSpec
from airflow_provider_blockread.exchange.results import RESULT_NAME, read_result, read_spec
from airflow_provider_blockread.ledger.queries import get_window, list_windows
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.options import (
    FileSource,
    FormatOption,
    GenerationOptions,
    Lines,
    ParquetSink,
    Policies,
    Selection,
    SparkJob,
    Splitting,
    Transform,
)
from airflow_provider_blockread.spark import job
from airflow_provider_blockread.spark.partition import read_blocks, scan_blocks
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

START = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class Pipe:
    """One feed from `source` to `out`; its fields are the options of the next plan."""

    folder: Path
    submitter: Submitter
    feed: str = "feed"
    record_format: FormatOption = Lines()
    transform: Transform = Transform()
    policies: Policies = Policies()
    selection: Selection = Selection()
    block_size: int = 2**20
    group_bytes: int = 2**30
    compression: str = "snappy"
    out_name: str = "out"
    owner: str = "test"
    job: SparkJob = SparkJob(heartbeat_s=0.05, stale_after_s=60.0)
    messages: list[str] = field(default_factory=list)
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
        ledger = Ledger(f"sqlite:///{self.folder / name}", now=lambda: self.time)
        ledger.upgrade()
        return Environment(ledger=ledger, stores=Stores(), log=self.messages.append)

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
        sink = ParquetSink(str(self.out), compression=self.compression)
        return PlanRequest(
            feed=self.feed,
            key=key,
            source=FileSource(str(self.source)),
            generation=GenerationOptions(
                sink=sink, record_format=self.record_format, transform=self.transform, policies=self.policies
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
        return ds.dataset(str(self.out), format="parquet").to_table().to_pylist() if self.out.exists() else []

    def values(self) -> list[Any]:
        """Return the column `value`, sorted."""
        return sorted(row["value"] for row in self.rows())

    def published(self) -> list[str]:
        """Return the names of all files in the output."""
        return sorted(path.name for path in self.out.rglob("*") if path.is_file()) if self.out.exists() else []

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


class ReadHere:
    """A `Submitter` that does a job's work in this very process, without Spark: quick, and the same code in tasks."""

    def __init__(self, stores: Stores | None = None) -> None:
        """Take the stores that open files."""
        self.stores = stores or Stores()
        self.attempts = 0
        self.scanned: list[int] = []  # numbers of blocks, as often as they were scanned
        self.cancelled = False

    def submit(self, spec_uri: str, *, name: str) -> None:
        """Run the job."""
        del name
        spec = read_spec(self.stores, spec_uri)
        try:
            if spec.mode == "scan":
                _Here(spec, self).scan_window(self.stores)
            else:
                _Here(spec, self).read_group(self.stores)
        except BlockReadError:
            raise
        except Exception as error:
            raise job._as_own_error(error) from error

    def cancel(self) -> None:
        """Remember that it was asked to stop."""
        self.cancelled = True


class _Here(job._Application):
    def __init__(self, spec: JobSpec, here: ReadHere) -> None:
        super().__init__(spec, here, None)
        self._here = here

    def _run_tasks(self, task: Any, work: list[Any]) -> list[Any]:
        return [answer for item in work for answer in task([item])]

    def read_group(self, stores: Stores) -> None:
        blocks = list(self._blocks(stores, self._spec.group))
        states = self._entry_states(stores, blocks)
        write_group(self._spec, stores, [blocks] if blocks else [], states)

    def _state_maps(self, blocks: list[Block]) -> dict[int, list[list[int]]]:
        self._here.scanned.extend(block.number for block in blocks)
        return dict(scan_blocks(self._spec, self._here.stores, blocks))


def write_group(spec: JobSpec, stores: Stores, parts: list[list[Block]], states: dict[int, int]) -> GroupResult:
    """Read parts as Spark tasks would and leave the group's result; return it."""
    reports = [read_blocks(spec, stores, part, attempt=number, states=states) for number, part in enumerate(parts)]
    job._write_result(stores, spec, reports, seconds=0.0)
    return read_result(stores, f"{spec.work_uri}/{RESULT_NAME}")[0]
