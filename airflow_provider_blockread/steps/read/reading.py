"""An attempt at a group: claim the group, run its Spark application, check the result, complete the group."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, suppress
from datetime import timedelta
from functools import partial
from typing import TypeVar

from airflow_provider_blockread.blocks.readers import share_of
from airflow_provider_blockread.errors import (
    BlockReadError,
    ConflictError,
    FileChangedError,
    FileMissingError,
    SourceError,
    TransientError,
)
from airflow_provider_blockread.exchange.layout import application_name, attempt_folder, data_folder
from airflow_provider_blockread.exchange.model import ReadSpec, Submission, Target
from airflow_provider_blockread.exchange.results import SPEC_NAME, accept_result
from airflow_provider_blockread.ledger.model import Claim, Group, GroupOutcome, GroupRef
from airflow_provider_blockread.ledger.windows.exclusions import excluded_files
from airflow_provider_blockread.ledger.windows.generations import as_read_by, latest_generation
from airflow_provider_blockread.ledger.windows.groups import (
    claim_group,
    complete_group,
    fail_group,
    get_group,
    heartbeat,
    is_adopted,
    record_submission,
)
from airflow_provider_blockread.ledger.windows.queries import get_window
from airflow_provider_blockread.ledger.windows.rates import reader_rates
from airflow_provider_blockread.options import FrameFunction, GenerationOptions, SparkJob
from airflow_provider_blockread.options.parsing.sizes import format_bytes, plural
from airflow_provider_blockread.records.registry import make_format
from airflow_provider_blockread.spark.frames.writing import written_schema
from airflow_provider_blockread.spark.tasks.audit import audited, check_date
from airflow_provider_blockread.spark.tasks.user_function import known_schema
from airflow_provider_blockread.steps.describe import describe_group, describe_read
from airflow_provider_blockread.steps.excluding import FailedTry, excluded_by_policy
from airflow_provider_blockread.steps.heartbeat import beating
from airflow_provider_blockread.steps.model import Caller, Environment, ReadOutcome, Submitter, WindowRef
from airflow_provider_blockread.steps.read.checking import check_result, check_scope
from airflow_provider_blockread.steps.read.inferring import with_columns
from airflow_provider_blockread.steps.read.progress import showing
from airflow_provider_blockread.steps.read.scanning import EntryStates
from airflow_provider_blockread.steps.read.stopping import stop_driver, stop_superseded
from airflow_provider_blockread.steps.read.submitting import run_submission, write_submission
from airflow_provider_blockread.steps.remedies import naming_remedy
from airflow_provider_blockread.storage.patience import Patience

T = TypeVar("T")

#: With a ledger that cannot be reached once a group was read: a minute or two, in which a database restarts or a
#: standby takes over. Otherwise all would be read again.
_PATIENCE = Patience(tries=10)


class Attempt:
    """One task's tries at a group, and everything that stays the same between them."""

    def __init__(self, env: Environment, ref: WindowRef, group: int, job: SparkJob, submitter: Submitter) -> None:
        env.require(ref)
        self._env, self._job, self._submitter = env, job, submitter
        self.ref = GroupRef(window=ref.window, generation=ref.generation, group=group)
        self._generation = latest_generation(env.ledger, ref.window)
        self._window = as_read_by(get_window(env.ledger, ref.window), self._generation)
        self._options = self._generation.as_options()
        check_scope(self._window, self._options)
        self._needs_scan = ref.needs_scan
        # Before a claim, as they may not be known yet.
        self._states = EntryStates.of(env, self._window, self._options, ref.generation)
        self._found = self._row()  # as an earlier try has left it
        self._submitted = self._submitted_before()  # of the current claim, if it may run on a cluster
        self.title = describe_group(self._found.planned)

    def _row(self) -> Group:
        return get_group(self._env.ledger, self.ref)

    def claim(self, caller: Caller) -> Claim | None:
        """Return the right to read the group, or None if it is already read; drivers of earlier tries are stopped.

        Raises:
            ConflictError: as `claim_group` does.
        """
        claim = claim_group(
            self._env.ledger,
            self.ref,
            owner=caller.owner,
            clear_number=caller.clear_number,
            stale_after_s=self._job.stale_after_s,
        )
        if claim is None:
            self._env.observer.log(f"{self.title}: read already")
            return None
        self._env.observer.count("read.retries", claim.epoch > 1)
        self._stop(f"epoch {claim.epoch} has taken over")
        if claim.ref.generation > 1:
            stop_superseded(self._env, self._submitter, self._window, self.ref)
        return claim

    def run(self, claim: Claim, work: Callable[[Claim], T]) -> T | None:
        """Return the result of the work for a claim, or None if a file was excluded and the group is read again."""
        ledger = self._env.ledger
        try:
            with naming_remedy(self._env, self._generation):
                return work(claim)
        except (FileMissingError, FileChangedError) as error:
            fail_group(ledger, claim, str(error))
            if not self._exclude(error, claim):
                raise
            return None
        except ConflictError as error:
            self._stop_own(claim, str(error))
            raise
        except BaseException as error:
            self._submitter.cancel()  # a no-op when the application has ended; an interrupted task must not leave one
            try:
                with suppress(TransientError):  # without the ledger, the attempt's own error counts
                    fail_group(ledger, claim, f"{type(error).__name__}: {error}")  # refused if it is no longer ours
            finally:
                self._stop_own(claim, str(error))
            raise

    def _submitted_before(self) -> Submission | None:
        row = self._found
        if row.state != "running" or row.spec_hash is None:
            return None
        return Submission(spec_uri=f"{self.folder(row.epoch)}/{SPEC_NAME}", spec_hash=row.spec_hash)

    def _stop_own(self, claim: Claim, why: str) -> None:
        """Stop the driver of a claim that has ended, unless a later try has adopted it."""
        with suppress(BlockReadError):  # without the ledger nobody can adopt it
            if is_adopted(self._env.ledger, claim):
                return
        self._stop(why)

    def _stop(self, why: str) -> None:
        """Stop the driver of the current claim on its cluster."""
        submission, self._submitted = self._submitted, None
        if submission is not None:
            application = self._found.application if submission == self._submitted_before() else None
            stop_driver(self._env, self._submitter, submission, application, why)

    def read(self, claim: Claim) -> bool:
        """Run the application to its end and complete the group; False if one of its files was excluded meanwhile."""
        spec, submission = self.prepare(claim)
        shown = showing(self._env, claim, submission, interval_s=self._job.heartbeat_s)
        with self.beating(claim), shown:
            run_submission(self._env, submission, self._submitter, name=self.name(claim))
        return self.complete(claim, spec, submission)

    def prepare(self, claim: Claim) -> tuple[ReadSpec, Submission]:
        """Write what the application needs, and record the submission if its driver may outlive this process."""
        spec = self._spec(claim)
        submission = write_submission(self._env, spec, self._submitter)
        if not self._submitter.keeps_secrets:  # the driver runs elsewhere
            self._submitted = submission
            record_submission(self._env.ledger, claim, spec_hash=submission.spec_hash)
        self._env.observer.log(f"{self.title}: reading as epoch {claim.epoch}, application {self.name(claim)}")
        return spec, submission

    def beating(self, claim: Claim) -> AbstractContextManager[None]:
        """Return a context that keeps a claim alive."""
        beat = partial(heartbeat, self._env.ledger, claim)
        return beating(beat, interval_s=self._job.heartbeat_s, on_lost=self._submitter.cancel)

    def name(self, claim: Claim) -> str:
        """Return the name of a claim's application."""
        return application_name(self.ref.window, self.ref.generation, self.ref.group, claim.epoch)

    def folder(self, epoch: int) -> str:
        """Return the folder of an attempt."""
        return attempt_folder(self._states.folder, self.ref.generation, self.ref.group, epoch)

    def complete(self, claim: Claim, spec: ReadSpec, submission: Submission) -> bool:
        """Check the result and complete the group; False if one of its files was excluded meanwhile."""
        result, uri, result_hash = accept_result(self._env.stores, submission)
        check_result(result, spec, uri)
        speed = f", {format_bytes(result.bytes / result.seconds)}/s" if result.seconds else ""
        took = f"{result.seconds:.1f} s of Spark's stages{speed}"
        self._env.observer.log(f"{self.title}: {plural(result.records, 'record')} in {took}")
        if result.bad_records:
            fate = "quarantined" if result.quarantined else "dropped"
            bad = f"{plural(result.bad_records, 'bad record')} {fate}, such as the {result.first_bad}"
            self._env.observer.warn(f"{self.title}: {bad}")
        outcome = GroupOutcome(
            result_uri=uri,
            result_hash=result_hash,
            records=result.records,
            bad_records=result.bad_records,
            rows=result.rows,
            read_bytes=result.bytes,
            reader_seconds=result.reader_seconds,
        )
        if not _PATIENCE.ask(self._env.ledger.name, partial(self._completed, claim, outcome)):
            return False
        for name in ("records", "bad_records", "bytes"):
            self._env.observer.count(f"read.{name}", getattr(result, name))
        self._env.observer.took("read.time", result.seconds)
        return True

    def _completed(self, claim: Claim, outcome: GroupOutcome) -> bool:
        if not self._holds_excluded(claim):
            complete_group(self._env.ledger, claim, outcome)
            return True
        self._env.observer.log(
            f"{self.title}: a file was excluded while it was read; it is read again without that file"
        )
        fail_group(self._env.ledger, claim, "a file was excluded while the group was read")
        return False

    def _holds_excluded(self, claim: Claim) -> bool:
        late = set(excluded_files(self._env.ledger, self.ref.window, self.ref.generation)) - set(claim.excluded)
        return bool(self._left_out(late))

    def _left_out(self, excluded: Collection[int]) -> set[int]:
        """Return which of the excluded files the group holds."""
        if not excluded:
            return set()
        blocks = self._env.blocks(self._window, group=self.ref.group)
        return {block.file for block in blocks}.intersection(excluded)

    def _spec(self, claim: Claim) -> ReadSpec:
        window, generation, states = self._window, self._generation, self._states
        folder = self.folder(claim.epoch)
        options, knows_columns = with_columns(self._env, window, self._options, claim)
        return ReadSpec(
            window=window.id,
            feed=window.feed,
            generation=generation.number,
            group=self.ref.group,
            epoch=claim.epoch,
            mode=generation.mode,
            manifest_uri=window.manifest_uri,
            manifest_hash=window.manifest_hash,
            folder=folder,
            options=options,
            target=self._target(options, data_folder(folder), knows_columns=knows_columns),
            excluded=claim.excluded,
            readers=None if window.readers is None else share_of(window.readers, window.groups, self.ref.group),
            rate=max(reader_rates(self._env.ledger, window.feed), default=0),  # least slowed by opening files
            entry_states_uri=states.uri_now(self._env.stores) if self._needs_scan else None,
            part_states=states.of_parts,
            key=window.key,
            loaded_at=generation.created_at.isoformat(),
            group_states_uri=states.group_uri(self.ref.group),
        )

    def _target(self, options: GenerationOptions, staging: str, *, knows_columns: bool) -> Target:
        """Return where tasks write, after a check that the sink can hold their rows, if their schema is known."""
        if self._generation.mode == "verify":
            return Target(folder=staging)
        check_date(options.sink, self._window.key)
        decoded = make_format(options.record_format).decoder().schema
        schema = known_schema(options.function, decoded) if knows_columns else None
        if schema is not None and isinstance(options.function, FrameFunction):
            schema = written_schema(schema, options)
        schema = None if schema is None else audited(schema, options)
        return self._env.sink(options.sink).prepare(schema, staging)

    def _exclude(self, error: SourceError, claim: Claim) -> bool:
        """Exclude the file that is missing or changed, if the policy says so; return whether it was excluded."""
        failed = FailedTry(who=claim.owner, left_out=claim.excluded, group=self.ref.group)
        return excluded_by_policy(self._env, self._window, self._options.policies, error, failed)

    def outcome(self, *, done_before: bool) -> ReadOutcome:
        """Return the group's outcome as the ledger has it."""
        row = self._row()
        took = row.finished_at - row.started_at if row.finished_at and row.started_at else timedelta(0)
        excluded = len(self._left_out(excluded_files(self._env.ledger, self.ref.window, self.ref.generation)))
        return ReadOutcome(
            group=self.ref.group,
            epoch=row.epoch,
            blocks=row.planned.blocks,
            records=row.records,
            bad_records=row.bad_records,
            bytes=row.bytes,
            done_before=done_before,
            seconds=took.total_seconds(),
            title=describe_read(row.planned, excluded=excluded, bad_records=row.bad_records),
        )
