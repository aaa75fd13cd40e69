"""Checks receipts against the plan: chained block by block and file by file, they cover every planned byte once."""

from __future__ import annotations

from typing import NoReturn

from airflow_provider_blockread.blocks import Block
from airflow_provider_blockread.blocks.ids import same_version
from airflow_provider_blockread.errors import ProofError, SourceError, shell_word
from airflow_provider_blockread.exchange.model import Receipt
from airflow_provider_blockread.options.parsing.sizes import plural
from airflow_provider_blockread.proof.model import Evidence, FileSums, Now, PartBorders, Sums
from airflow_provider_blockread.records.format import codec_of

_BATCH_FILES = 10_000  # files whose sums are held at once
_ADVICE = "clear the group's task to read it again"
_SEAM = "clear the run from its plan on, with the record format of that window"


class Chain:
    """The receipts so far, chained block by block and file by file; each step refuses receipts that do not fit."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        self._block: Block | None = None
        self._first: Receipt | None = None  # of the current file
        self._last: Receipt | None = None
        self._now: Now
        self._compressed = False  # whether the current file is
        self._read_now = False  # whether this generation has read any block of the current file
        self._records = self.bad_records = self._skipped = self._bytes = self._digest = self.rows_out = 0
        self._files: list[FileSums] = []
        self._records_before = self._bad_before = self._bytes_before = 0  # of the current file
        self._most_bad, self._worst = 0, ""  # bad records of the file with the most, and its path

    def refuse(self, what: str, block: Block | None = None, *, advice: str = _ADVICE) -> NoReturn:
        """Raise a `ProofError` that names the generation, the block and what to do."""
        where = f"{block}: " if block is not None else ""
        msg = f"{self._evidence.name} fails its proof: {where}{what}; nothing of this generation is published; {advice}"
        raise ProofError(msg)

    def add(self, block: Block, receipt: Receipt | None, now: Now) -> None:
        """Check the next block of the manifest and its receipt, if there is one, and add them.

        `now` returns the current version of the block's file.
        """
        planned = (block.number, block.file, block.start, block.end)
        if receipt is None or receipt.block > block.number:
            self.refuse("no receipt: the block was not read", block)
        if receipt.block < block.number:
            self.refuse(f"a receipt of block {receipt.block} is a duplicate or was not planned", block)
        if (receipt.block, receipt.file, receipt.start, receipt.end) != planned:
            self.refuse(f"the receipt is of bytes [{receipt.start}, {receipt.end}) of another range", block)
        if self._block is None or self._block.file != block.file:
            self.finish()
            self._begin_file(block, receipt)
            self._now = now
        elif self._last is not None:
            self._follow(block, receipt, self._last)
        self._check_inside(block, receipt)
        if self._compressed:
            self._check_stream(block, receipt)
        else:
            self._check_plain(block, receipt)
        self._block, self._last = block, receipt
        self._read_now |= block.group not in self._evidence.carried
        self._records += receipt.records
        self.bad_records += receipt.bad_records
        self._skipped += receipt.skipped_records
        self._bytes += receipt.end - receipt.start
        self._digest = (self._digest + receipt.digest) % 2**64
        self.rows_out += receipt.rows_out

    def _begin_file(self, block: Block, receipt: Receipt) -> None:
        self._first = receipt
        self._compressed = codec_of(self._evidence.fmt, block.version.path) is not None
        if block.start != block.part_start:
            self.refuse(f"the file's first block starts at byte {block.start}, not {block.part_start}", block)
        if block.part_start:
            self._go_on(block, receipt)
            return
        size = receipt.stream_size if self._compressed else block.version.size  # decoded, as data offsets are
        first = min(receipt.data_offset, size)
        if receipt.first_start != first:
            self.refuse(f"reading began at byte {receipt.first_start}, but data begin at byte {first}", block)
        if receipt.entry_state != self._evidence.fmt.initial_state:
            self.refuse(f"the file was entered in state {receipt.entry_state}", block)

    def _go_on(self, block: Block, receipt: Receipt) -> None:
        """Check that a part begins where the previous part, which another window published, ended."""
        before = self._evidence.before.get(block.file)
        if before is None:
            self.refuse("no window is known to have read the part before", block)
        seam = "between it and the part before, which another window has published under another record format"
        if receipt.first_start != before[0]:
            what = "lost" if receipt.first_start > before[0] else "read twice"
            low, high = sorted((receipt.first_start, before[0]))
            self.refuse(f"bytes [{low}, {high}) are {what} {seam}", block, advice=_SEAM)
        if receipt.entry_state != before[1]:
            self.refuse(f"states {before[1]} and {receipt.entry_state} meet {seam}", block, advice=_SEAM)

    def _follow(self, block: Block, receipt: Receipt, last: Receipt) -> None:
        if block.start != last.end:
            self.refuse(f"bytes [{last.end}, {block.start}) belong to no block", block)
        if receipt.entry_state != last.exit_state:
            self.refuse(f"it was entered in state {receipt.entry_state}, left in {last.exit_state}", block)
        if self._compressed:
            return
        if receipt.data_offset != last.data_offset:
            self.refuse(f"data begin at byte {receipt.data_offset}, but the previous block says otherwise", block)
        if receipt.first_start != last.next_start:
            what = "lost" if receipt.first_start > last.next_start else "read twice"
            low, high = sorted((receipt.first_start, last.next_start))
            self.refuse(f"bytes [{low}, {high}) are {what} between it and the block before", block)

    def _check_inside(self, block: Block, receipt: Receipt) -> None:
        """Check that the receipt accounts for every byte between its two record starts, and for every record."""
        accounted = receipt.record_bytes + receipt.terminator_bytes + receipt.skipped_bytes
        span = receipt.next_start - receipt.first_start
        if accounted != span:
            self.refuse(f"{span} bytes from byte {receipt.first_start} on, but {accounted} were read", block)
        self._check_records(block, receipt)

    def _check_plain(self, block: Block, receipt: Receipt) -> None:
        if receipt.next_start < min(receipt.end, block.version.size):
            self.refuse(f"reading stopped at byte {receipt.next_start}", block)
        if receipt.stream_size or receipt.consumed:
            self.refuse("it was decoded, but the file is not compressed", block)

    def _check_stream(self, block: Block, receipt: Receipt) -> None:
        """Check that a compressed file was decoded and read to its end by its first block."""
        if receipt.exit_state != receipt.entry_state:
            self.refuse(f"it was left in state {receipt.exit_state}, but it is read whole", block)
        if block.start > 0:
            read = (receipt.data_offset, receipt.first_start, receipt.next_start, receipt.records)
            if any((*read, receipt.skipped_records, receipt.stream_size, receipt.consumed)):
                self.refuse("the first block of a compressed file reads all of it, but this one read too", block)
        elif receipt.next_start != receipt.stream_size:
            self.refuse(f"its {receipt.stream_size} decoded bytes were read up to byte {receipt.next_start}", block)
        elif receipt.consumed != block.version.size:
            self.refuse(f"{receipt.consumed} of its {block.version.size} compressed bytes were decoded", block)

    def _check_records(self, block: Block, receipt: Receipt) -> None:
        if receipt.records != receipt.rows + receipt.bad_records:
            handed = receipt.rows + receipt.bad_records
            self.refuse(f"{receipt.records} records were read but {handed} handed on", block)
        if receipt.bad_records and self._evidence.policies.on_bad_record == "fail":
            self.refuse(f"{receipt.bad_records} bad records were accepted, but on_bad_record is 'fail'", block)
        if receipt.rows_out != receipt.rows and self._evidence.function.rows_out != "counted":
            self.refuse(f"{receipt.rows} rows were read but {receipt.rows_out} handed to the writer", block)
        if bool(receipt.skipped_records) != bool(receipt.skipped_bytes):
            what = f"{receipt.skipped_records} records of {receipt.skipped_bytes} bytes"
            self.refuse(f"{what} were skipped, which cannot be", block)
        if min(receipt.records, receipt.bad_records, receipt.rows, receipt.rows_out, receipt.skipped_records) < 0:
            self.refuse("a count is negative", block)

    def finish(self) -> None:
        """Check that the current file was read to its end and is still the version that was planned."""
        if self._block is None or self._last is None:
            return
        block, size = self._block, self._block.version.size
        plain = not self._compressed
        ends = block.part_end == size  # otherwise the next part continues where this one found the next record
        if block.end != block.part_end or (plain and ends and self._last.next_start != size):
            self.refuse(f"the file's {size} bytes were read up to byte {self._last.next_start}", block)
        if self._read_now:
            self._check_version(block, self._now)
        self._files.append(
            FileSums(
                file=block.file,
                records=self._records - self._records_before,
                bad_records=self.bad_records - self._bad_before,
                bytes=self._bytes - self._bytes_before,
                part=self._borders(block, self._last),
            )
        )
        if self._files[-1].bad_records > self._most_bad:
            self._most_bad, self._worst = self._files[-1].bad_records, block.version.path
        self._records_before, self._bad_before, self._bytes_before = self._records, self.bad_records, self._bytes
        if len(self._files) >= _BATCH_FILES:
            self.hand_over()
        self._block = self._last = None
        self._read_now = False

    def _borders(self, block: Block, last: Receipt) -> PartBorders | None:
        """Return where the current file was entered and left, or None if all of it was read."""
        if self._first is None or (block.part_start, block.part_end) == (0, block.version.size):
            return None
        return PartBorders(
            file=block.file,
            path=block.version.path,
            start=block.part_start,
            end=block.part_end,
            first_start=self._first.first_start,
            entry_state=self._first.entry_state,
            next_start=last.next_start,
            exit_state=last.exit_state,
        )

    def _check_version(self, block: Block, now: Now) -> None:
        try:
            found = now()
        except SourceError as error:
            self.refuse(f"after its read, {error}", block)
        if not same_version(found, block.version):
            leave = f"`blockread windows exclude {self._evidence.window} {shell_word(found.path)} --reason changed`"
            renew = f", read it as it is now ({self._evidence.renew})" if self._evidence.renew else ""
            advice = f"restore it and retry{renew}, or leave it out with {leave} and {_ADVICE}"
            self.refuse("the file was changed after its read", block, advice=advice)

    def check_bad_records(self) -> None:
        """Check that no more records are bad than the policies allow; a verification publishes none."""
        policies = self._evidence.policies
        if not self._evidence.writes or policies.allows_bad(self.bad_records, self._records):
            return
        leave = f"`blockread windows exclude {self._evidence.window} {shell_word(self._worst)} --reason bad`"
        example = next((result.first_bad for result in self._evidence.results if result.first_bad), "")
        self.refuse(
            f"{self.bad_records:,} of {plural(self._records, 'record')} are bad, more than"
            f" max_bad_records={policies.max_bad_records!r} allows; {self._most_bad:,} of them are in {self._worst};"
            f" one is the {example}",
            advice=f"correct the format's options or the file, or leave it out with {leave}, and clear the run",
        )

    def hand_over(self) -> None:
        """Pass on the sums of the files that were proven so far."""
        self._evidence.keep(self._files)
        self._files = []

    def sums(self, rows: int) -> Sums:
        """Return the sums of all receipts so far, with this number of rows in the output."""
        return Sums(
            records=self._records,
            bad_records=self.bad_records,
            skipped_records=self._skipped,
            rows=rows,
            bytes=self._bytes,
            digest=f"{self._digest:016x}" if self._digest else None,
        )
