"""The driver's side of a job: it cuts blocks into items, has an engine run the tasks, and logs progress."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from airflow_provider_blockread.blocks import Block
from airflow_provider_blockread.exchange.manifest import read_manifest
from airflow_provider_blockread.exchange.model import JobSpec, Submission
from airflow_provider_blockread.options.sizes import format_bytes
from airflow_provider_blockread.spark.engines.protocol import Answer, Engine, Item, Progress, Task
from airflow_provider_blockread.spark.packing import pack
from airflow_provider_blockread.storage.stores import Stores

#: Takes a line for people.
Log: TypeAlias = Callable[[str], None]
#: Opens stores, in the driver and in each task; it travels to the tasks with the credentials.
MakeStores: TypeAlias = Callable[[], Stores]


@dataclass(frozen=True, kw_only=True)
class Driver:
    """What the jobs of an application share."""

    submission: Submission
    engine: Engine
    make_stores: MakeStores = Stores
    log: Log = lambda _: None

    @cached_property
    def stores(self) -> Stores:
        """The stores that the driver itself uses."""
        return self.make_stores()

    def blocks(self, spec: JobSpec, group: int | None = None) -> Iterator[Block]:
        """Yield the planned blocks of the window, or of one group, but for those of excluded files."""
        excluded = set(spec.excluded)
        planned = read_manifest(self.stores, spec.manifest_uri, spec.manifest_hash, group=group)
        return (block for block in planned if block.file not in excluded)

    def packed(self, blocks: Iterable[Block], max_readers: int | None) -> list[list[Block]]:
        """Return the blocks cut into one item a task."""
        return pack(blocks, cores=self.engine.cores, sure=not self.engine.may_grow, max_readers=max_readers)

    def run(self, job: str, task: Task[Item, Answer], items: Sequence[Item], *, verb: str, size: int) -> list[Answer]:
        """Run a task for each item and return the answers in order; `verb` (`read`) and `size` in bytes are logged."""
        return self.engine.run(
            task,
            items,
            title=f"{job}: {verb}",
            report=lambda progress: self.log(_line(verb, progress, size)),
        )


def _line(verb: str, progress: Progress, size: int) -> str:
    failed = f", {progress.failed:,} attempts failed" if progress.failed else ""
    return (
        f"{verb} {progress.done:,} of {progress.of:,} tasks,"
        f" about {format_bytes(progress.done / progress.of * size)} of {format_bytes(size)}{failed}"
    )
