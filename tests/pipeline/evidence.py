"""What the proof is given, made by really reading files in this process, and open to mutation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from hypothesis import strategies as st

from airflow_provider_blockread.blocks import GroupLimits, iter_blocks
from airflow_provider_blockread.blocks.group import FileRange
from airflow_provider_blockread.errors import ProofError
from airflow_provider_blockread.exchange.model import GroupResult, OutputFile, ReadSpec, Receipt, Target
from airflow_provider_blockread.exchange.receipts import read_receipts
from airflow_provider_blockread.options import (
    AsRead,
    CustomFormat,
    FormatOption,
    FunctionOption,
    GenerationOptions,
    Lines,
    ParquetSink,
    Policies,
)
from airflow_provider_blockread.proof import Evidence, prove
from airflow_provider_blockread.records import make_format
from airflow_provider_blockread.sinks.registry import make_sink
from airflow_provider_blockread.sinks.staging import counted
from airflow_provider_blockread.spark.scanning import entry_states, files_to_scan
from airflow_provider_blockread.spark.tasks.partition import scan_blocks
from airflow_provider_blockread.storage.stores import Stores
from tests.pipeline.make import write_group

QUOTED = CustomFormat(path="quoted_lines:QuotedLines")

_UNSEEN = ("digest", "skipped_records")  # a sum for comparison, and a count that only goes with its bytes

STORES = Stores()


@dataclass
class Reading:
    """One group read here and now: what the proof is given, open to mutation."""

    folder: Path
    files: list[bytes]
    block_size: int
    record_format: FormatOption = Lines()
    policies: Policies = Policies()
    function: FunctionOption = AsRead()

    def __post_init__(self) -> None:
        """Plan and read."""
        self.paths = [self.folder / f"f{number}.txt" for number in range(len(self.files))]
        for path, data in zip(self.paths, self.files, strict=True):
            path.write_bytes(data)
        versions = [STORES.stat(str(path)) for path in self.paths]
        parts = [FileRange(file=10 + i, version=v, start=0, end=v.size) for i, v in enumerate(versions)]
        limits = GroupLimits(block_size=self.block_size, group_bytes=2**40, max_groups=1)
        self.blocks = list(iter_blocks(parts, limits, total_bytes=sum(map(len, self.files))))
        self.spec = ReadSpec(
            window="0123456789abcdef",
            feed="feed",
            generation=1,
            group=0,
            epoch=1,
            mode="write",
            manifest_uri="",
            manifest_hash="",
            folder=f"file://{self.folder}/work",
            target=Target(folder=f"file://{self.folder}/work/data"),
            options=GenerationOptions(
                sink=ParquetSink(f"file://{self.folder}/out"),
                record_format=self.record_format,
                policies=self.policies,
                function=self.function,
            ),
        )
        self.fmt = make_format(self.record_format)
        self.states: dict[int, int] = {}
        if self.fmt.needs_scan:
            files = list(files_to_scan(self.blocks, self.fmt))
            maps = dict(scan_blocks(self.spec, STORES, [block for of_file in files for block in of_file[:-1]]))
            self.states = entry_states(self.fmt, files, maps)
        middle = len(self.blocks) // 2
        parts_of_work = [part for part in (self.blocks[:middle], self.blocks[middle:]) if part]
        self.result: GroupResult = write_group(self.spec, STORES, parts_of_work, self.states)
        self.receipts = list(read_receipts(STORES, self.result.receipts_uri, self.result.receipts_hash))

    def evidence(self, receipts: list[Receipt] | None = None, result: GroupResult | None = None) -> Evidence:
        """Return the evidence, some of it replaced."""
        given_receipts = self.receipts if receipts is None else receipts
        return Evidence(
            name="feed f window w generation 1",
            window="w",
            blocks=((block, partial(STORES.stat, block.version.path)) for block in self.blocks),
            results=(result or self.result,),
            receipts=lambda _: iter(given_receipts),
            count=self._count,
            count_bad=self._count,
            fmt=self.fmt,
            writes=True,
            policies=self.policies,
            function=self.function,
        )

    def _count(self, outputs: Sequence[OutputFile]) -> Iterator[tuple[int, int]]:
        return counted(STORES, outputs, make_sink(STORES, self.spec.options.sink).count)

    def refused(self, receipts: list[Receipt] | None = None, result: GroupResult | None = None) -> str:
        """Return the message with which the proof refuses."""
        with pytest.raises(ProofError) as caught:
            prove(self.evidence(receipts, result))
        return str(caught.value)

    def with_a_changed_number(self) -> st.SearchStrategy[list[Receipt]]:
        """Return receipts, in one of which a single number that matters is changed, by however much."""

        @st.composite
        def drawn(draw: st.DrawFn) -> list[Receipt]:
            index = draw(st.integers(0, len(self.receipts) - 1))
            receipt = self.receipts[index]
            last_of_file = index + 1 == len(self.receipts) or self.receipts[index + 1].file != receipt.file
            # No block follows that would be entered in it.
            unseen = (*_UNSEEN, "exit_state") if last_of_file else _UNSEEN
            name = draw(st.sampled_from([name for name in Receipt._fields if name not in unseen]))
            by = draw(st.integers(-40, 40).filter(bool))
            return self.changed(index, **{name: getattr(receipt, name) + by})

        return drawn()

    def changed(self, index: int, **fields: int) -> list[Receipt]:
        """Return the receipts with one of them changed."""
        receipts = list(self.receipts)
        receipts[index] = receipts[index]._replace(**fields)
        return receipts
