"""Commit: prove the generation, then publish it with a journal whose steps may all be repeated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial

from airflow_provider_blockread.blocks import Block
from airflow_provider_blockread.errors import ConflictError, ExchangeError, FencedError, ProofError, TransientError
from airflow_provider_blockread.exchange.layout import window_folder
from airflow_provider_blockread.exchange.model import GroupResult
from airflow_provider_blockread.exchange.receipts import read_receipts
from airflow_provider_blockread.exchange.results import read_result
from airflow_provider_blockread.heap import settled_heap
from airflow_provider_blockread.ledger.model import Generation, Group, Publication
from airflow_provider_blockread.ledger.windows.exclusions import excluded_files
from airflow_provider_blockread.ledger.windows.generations import (
    as_read_by,
    get_generation,
    list_generations,
    list_groups,
    published_generation,
)
from airflow_provider_blockread.ledger.windows.journal import record_file_sums
from airflow_provider_blockread.ledger.windows.parts import part_ends_before
from airflow_provider_blockread.ledger.windows.publishing import (
    check_publication,
    claim_publication,
    drop_file_sums,
    finish_publication,
    finish_verification,
    let_go,
    mark_failed,
    mark_proven,
)
from airflow_provider_blockread.ledger.windows.queries import get_window, oldest_file_ns
from airflow_provider_blockread.options.parsing.sizes import format_bytes, plural
from airflow_provider_blockread.proof import Evidence, prove
from airflow_provider_blockread.proof.model import FileSums, PartBorders, Sums
from airflow_provider_blockread.records.registry import make_format
from airflow_provider_blockread.sinks.partitions import partition_keys
from airflow_provider_blockread.sinks.staging import counted
from airflow_provider_blockread.steps.commit.versions import with_versions
from airflow_provider_blockread.steps.describe import describe_published, some_keys
from airflow_provider_blockread.steps.excluding import warn_of_losses
from airflow_provider_blockread.steps.heartbeat import beating
from airflow_provider_blockread.steps.journal import Journal
from airflow_provider_blockread.steps.model import Environment, Published, WindowRef
from airflow_provider_blockread.steps.read.scanning import drop_unsealed_states
from airflow_provider_blockread.steps.remedies import way_to_renew
from airflow_provider_blockread.steps.separation import check_whole

_HEARTBEAT_S = 10.0


def commit(env: Environment, ref: WindowRef, *, owner: str, stale_after_s: float = 120.0) -> Published:
    """Prove and publish the window's generation, and return the publication; a repeated call changes nothing.

    Raises:
        ProofError: when the proof fails; nothing is published then, and what was published before stays.
        OwnedError: when another owner is publishing.
        StateError: when groups are not done, or a newer generation has replaced this one.
        ConflictError: when the part of a file that precedes one of its own is not published.
        FencedError: when another attempt took over meanwhile.
        WrongLedgerError: when the ledger was restored from a backup, and lacks later windows of the feed.
    """
    env.require(ref)
    if ref.status in {"empty", "skipped"}:
        nothing = Published(window=ref.window, key=ref.key, feed=ref.feed, generation=0, status=ref.status, proof="")
        return replace(nothing, message=ref.message)
    check_whole(env, ref.feed, get_generation(env.ledger, ref.window, ref.generation))
    publication = claim_publication(env.ledger, ref.window, ref.generation, owner=owner, stale_after_s=stale_after_s)
    commitment = _Commitment(env, publication)
    if publication.state not in {"published", "verified"}:
        beat = partial(_beat, env, publication)
        try:  # nothing is stopped once the claim is lost: every step below checks the epoch itself
            with beating(beat, interval_s=_HEARTBEAT_S, on_lost=lambda: None), settled_heap():
                commitment.run()
        except FencedError:
            raise
        except ConflictError:
            with suppress(FencedError):
                let_go(env.ledger, publication)
            raise
        except Exception as error:
            with suppress(TransientError):  # without the ledger, the attempt's own error counts
                mark_failed(env.ledger, publication, f"{type(error).__name__}: {error}")
            raise
    return commitment.summary


def _beat(env: Environment, publication: Publication) -> None:
    """Record that the publisher is alive; if it has just finished, there is nothing left to record.

    Raises:
        FencedError: when a newer epoch or generation has taken over.
    """
    try:
        check_publication(env.ledger, publication)
    except FencedError:
        raise
    except ConflictError:
        return  # any remaining step would fail by itself


class _Commitment:
    """One attempt at proving and publishing a generation."""

    def __init__(self, env: Environment, publication: Publication) -> None:
        self._env, self._publication = env, publication
        self._generation = get_generation(env.ledger, publication.window, publication.generation)
        self._window = as_read_by(get_window(env.ledger, publication.window), self._generation)
        self._options = self._generation.as_options()
        self._journal = Journal(env, self._window, self._generation)
        self._groups = list_groups(env.ledger, publication.window, publication.generation)
        self._excluded = set(excluded_files(env.ledger, publication.window, publication.generation))
        self._read_seconds = 0.0
        self._parts: list[PartBorders] = []  # as the proof found them
        self._hashes: dict[int, dict[int, str | None]] = {}  # of the results of earlier generations, by group
        self._plans: dict[int, str] = {self._generation.number: self._window.manifest_hash}  # hashes, by generation

    def run(self) -> None:
        """Prove, then publish, or only record a verification; continue where an earlier attempt stopped."""
        try:
            results = self._results()
        except ExchangeError:
            if self._publication.state != "publishing":
                raise
            self._publish(None)  # the journal knows what they were
            return
        self._read_seconds = sum(r.seconds for r in results if r.generation == self._generation.number)
        ledger, publication = self._env.ledger, self._publication
        if publication.state != "publishing":
            try:
                sums = self._prove(results)
            except ProofError:
                self._env.observer.count("commit.failed_proofs", 1)
                drop_unsealed_states(self._env, self._window, self._options, self._groups)
                raise
            mark_proven(ledger, publication, sums)
            found = f"{plural(sums.records, 'record')}, {sums.bad_records:,} bad, {format_bytes(sums.bytes)}"
            self._env.observer.log(f"{publication} is proven: {found}")
        if self._generation.mode == "verify":
            finish_verification(ledger, publication)
            return
        self._publish(results)

    def _results(self) -> tuple[GroupResult, ...]:
        results = []
        for group in self._groups:
            result = read_result(self._env.stores, str(group.result_uri), str(group.result_hash))
            bound = (result.window, result.generation, result.group, result.epoch, result.manifest_hash)
            ref, read_by = group.ref, result.generation if self._is_carried(group, result) else group.ref.generation
            if bound != (ref.window, read_by, ref.group, group.epoch, self._plan_hash(read_by)):
                msg = f"result file {group.result_uri} belongs to another attempt or manifest; clear the group's task"
                raise ExchangeError(msg)
            results.append(result)
        return tuple(results)

    def _is_carried(self, group: Group, result: GroupResult) -> bool:
        """Return whether the group's result was taken over from an earlier generation."""
        if result.generation >= group.ref.generation:
            return False
        if result.generation not in self._hashes:
            earlier = list_groups(self._env.ledger, group.ref.window, result.generation)
            self._hashes[result.generation] = {found.ref.group: found.result_hash for found in earlier}
        return self._hashes[result.generation].get(group.ref.group) == group.result_hash

    def _plan_hash(self, generation: int) -> str:
        """Return the hash of the manifest that a generation reads."""
        if generation not in self._plans:
            earlier = get_generation(self._env.ledger, self._window.id, generation)
            self._plans[generation] = earlier.manifest_hash or self._window.plan_hash
        return self._plans[generation]

    def _prove(self, results: tuple[GroupResult, ...]) -> Sums:
        stores = self._env.stores.within(self._options.bounds)
        writes = self._generation.mode == "write"
        # Sources of published groups may be gone or changed since; those of staged groups must be as they were read.
        shown = published_generation(self._env.ledger, self._window.id)
        carried = {r.group for r in results if shown and r.generation != self._generation.number}
        evidence = Evidence(
            name=f"feed {self._window.feed} window {self._window.id} generation {self._generation.number}",
            window=self._window.id,
            blocks=with_versions(stores, self._blocks(), carried),
            results=tuple(self._journal.placed(r) if r.group in carried else r for r in results),
            carried=carried,
            renew=way_to_renew(self._env, self._generation),
            receipts=lambda result: read_receipts(stores, result.receipts_uri, result.receipts_hash),
            count=lambda files: counted(stores, files, self._journal.output.count),
            count_bad=lambda files: counted(stores, files, self._journal.quarantine.count),
            fmt=make_format(self._options.record_format),
            writes=writes,
            policies=self._options.policies,
            keep=self._keep,
            before=part_ends_before(self._env.ledger, self._window.id),
            function=self._options.function,
        )
        drop_file_sums(self._env.ledger, self._publication)  # of an earlier try
        sums = prove(evidence)
        if not writes:
            self._compare(sums)
        return sums

    def _keep(self, sums: Sequence[FileSums]) -> None:
        record_file_sums(self._env.ledger, self._publication, sums)
        self._parts += [of_file.part for of_file in sums if of_file.part is not None]

    def _blocks(self) -> Iterator[Block]:
        if not self._window.blocks:
            return iter(())
        return (block for block in self._env.blocks(self._window) if block.file not in self._excluded)

    def _count_blocks(self) -> int:
        """Return how many blocks were read; once the plan is pruned, those of excluded files count."""
        with suppress(ExchangeError):
            return sum(1 for _ in self._blocks()) if self._excluded else self._window.blocks
        return self._window.blocks

    def _compare(self, sums: Sums) -> None:
        """Refuse a verification that did not read what is published, or whose published files are gone."""
        shown = published_generation(self._env.ledger, self._window.id)
        if shown is not None:
            Journal(self._env, self._window, shown).require_files()
        if shown is None or shown.options.get("record_format") != self._generation.options.get("record_format"):
            return
        both = sums.digest and shown.sums.digest
        if sums.records != shown.sums.records or (both and sums.digest != shown.sums.digest):
            msg = (
                f"{self._publication}: verifying read {sums.records} records (digest {sums.digest}), but generation"
                f" {shown.number} published {shown.sums.records} (digest {shown.sums.digest}); rebuild the"
                f" window with `blockread windows rebuild {self._window.id}`"
            )
            raise ProofError(msg)

    def _publish(self, results: Sequence[GroupResult] | None) -> None:
        """Publish the results into output and quarantine, and remove what earlier generations published there."""
        self._journal.publish(self._publication, results, self._parts)
        finish_publication(self._env.ledger, self._publication)
        done = self.summary
        self._env.observer.log(
            f"{self._publication} is published: {plural(done.outputs, 'file')} in {self._journal.output.uri}"
        )
        warn_of_losses(self._env, done)
        for name in ("files", "records", "bad_records", "bytes"):
            self._env.observer.count(f"commit.{name}", getattr(done, name))
        self._env.observer.took("commit.lag", self._env.age_s(oldest_file_ns(self._env.ledger, self._window.id)))

    def _removed(self, shown: Generation) -> int:
        """Return how many files of the output an earlier generation published that this one does not have."""
        every = list_generations(self._env.ledger, shown.window) if shown.state == "published" else []
        before = [found for found in every if found.published_at is not None and found.number < shown.number]
        if not before:
            return 0
        earlier, now = (_uris(Journal(self._env, self._window, found)) for found in (before[-1], shown))
        return len(earlier - now)

    @cached_property
    def summary(self) -> Published:
        """The publication as the ledger has it once the generation is complete."""
        env, window = self._env, self._window
        row = get_generation(env.ledger, window.id, self._generation.number)
        files = self._journal.files()
        partitions = partition_keys(files.get("output", ()), self._options.sink)
        done = Published(
            window=window.id,
            key=window.key,
            feed=window.feed,
            generation=row.number,
            status=row.state,
            files=window.files - len(self._excluded),
            blocks=self._count_blocks(),
            groups=window.groups,
            records=row.sums.records,
            bad_records=row.sums.bad_records,
            skipped_records=row.sums.skipped_records,
            rows=row.sums.rows,
            bytes=row.sums.bytes,
            outputs=len(files.get("output", ())),
            removed=self._removed(row),
            partitions=len(partitions),
            partition_keys=some_keys(partitions),
            excluded=len(self._excluded),
            read_seconds=round(self._read_seconds, 3),
            receipts_uri=f"{window_folder(self._options.sink.work_area, window.feed, window.id)}/g{row.number}",
            table_version=row.table_version or "",
            schema_changes=row.schema_changes or "",
            quarantine_uri=self._journal.quarantine.uri if "quarantine" in files else "",
        )
        return replace(done, message=describe_published(done))


def _uris(journal: Journal) -> set[str]:
    return {file.uri for file in journal.files().get("output", ())}
