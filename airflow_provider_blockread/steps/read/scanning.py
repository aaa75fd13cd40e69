"""Scan: find the entry states of files that span groups, once per window and format.

A file inside one group is scanned by that group's application, in a stage before its read.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import Self, TypeVar, cast

from airflow_provider_blockread.blocks import Block
from airflow_provider_blockread.blocks.ids import digest, options_digest
from airflow_provider_blockread.errors import BlockReadError, CompleteError, FileChangedError, FileMissingError
from airflow_provider_blockread.exchange.files import content_hash, read_small
from airflow_provider_blockread.exchange.layout import scan_folder, scan_name, window_folder
from airflow_provider_blockread.exchange.model import ScanSpec, Submission
from airflow_provider_blockread.exchange.results import SPEC_NAME
from airflow_provider_blockread.exchange.signs import write_stop
from airflow_provider_blockread.exchange.states import read_states, write_states
from airflow_provider_blockread.ledger.model import Generation, Group, Window
from airflow_provider_blockread.ledger.windows.exclusions import excluded_files
from airflow_provider_blockread.ledger.windows.generations import FINISHED, as_read_by, latest_generation
from airflow_provider_blockread.ledger.windows.parts import part_ends_before
from airflow_provider_blockread.ledger.windows.queries import get_window
from airflow_provider_blockread.ledger.windows.scans import begin_scan, end_scan, fail_scan
from airflow_provider_blockread.options import GenerationOptions
from airflow_provider_blockread.records.format import must_scan
from airflow_provider_blockread.records.registry import make_format
from airflow_provider_blockread.steps.excluding import FailedTry, excluded_by_policy
from airflow_provider_blockread.steps.model import DetachedSubmitter, Environment, Submitter, WindowRef
from airflow_provider_blockread.steps.read.submitting import run_submission, window_secret, write_submission
from airflow_provider_blockread.steps.remedies import naming_remedy
from airflow_provider_blockread.storage.stores import Stores

_WHO = "the scan step"
_MOST_BYTES = 2**26  # of a specification
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class EntryStates:
    """The URIs of a window's entry states, which depend on its manifest, the record format, and preceding parts.

    `of_parts` has the states (by file) of files that are entered at the end of a part that another window reads;
    `without` identifies the files that only one generation leaves out.
    """

    window: Window
    options: GenerationOptions
    of_parts: tuple[tuple[int, int], ...]
    without: str = ""

    @classmethod
    def of(cls, env: Environment, window: Window, options: GenerationOptions, generation: int | None = None) -> Self:
        """Return the URIs for a window with a generation's options; without a number, for what all generations read.

        Raises:
            ConflictError: when the states at the beginning of parts are not known yet.
        """
        states = _of_parts(env, window) if make_format(options.record_format).needs_scan else ()
        return cls(window=window, options=options, of_parts=states, without=without_files(env, window, generation))

    @property
    def folder(self) -> str:
        """The folder of the window."""
        return window_folder(self.options.sink.work_area, self.window.feed, self.window.id)

    def uri(self, suffix: str = "") -> str:
        """Return the URI of the states of files that span groups or, with a suffix, of others."""
        key = format_key(self.window.manifest_hash, self.options)
        begun = f"-{digest(str(self.of_parts))[:12]}" if self.of_parts else ""
        return f"{self.folder}/states-{key}{begun}{suffix}.json"

    def group_uri(self, group: int) -> str:
        """Return the URI of the states of a group's other files."""
        return self.uri(f"-g{group}")

    def uri_now(self, stores: Stores) -> str:
        """Return the URI of the states of files that span groups, as this generation needs them.

        States of all files can be used by a generation that leaves some out, but not the other way round.
        """
        uri = self.uri()
        return uri if not self.without or stores.exists(uri) else self.uri(self.without)

    @property
    def known_uri(self) -> str:
        """The URI of states that are known before the scan, from an earlier plan of the window."""
        return self.uri("-known")


def _of_parts(env: Environment, window: Window) -> tuple[tuple[int, int], ...]:
    return tuple((file, state) for file, (_, state) in part_ends_before(env.ledger, window.id).items())


def carry_states(
    env: Environment, before: Window, now: Window, options: GenerationOptions, changed: Mapping[int, Collection[Block]]
) -> None:
    """Keep the states that a scan found under an earlier plan of a window, except for blocks that have changed.

    The plan of `now` differs from that of `before` only in some blocks, and blocks keep their numbers; `changed` has
    the earlier blocks of changed files, by file. The options are those of the generation that will read it.

    This may run in a web server, so a user's own format, which is code, is not loaded.
    """
    if not now.scan_epoch:
        return
    secret = env.window_secret(now.id)
    scanned = EntryStates(window=before, options=options, of_parts=_of_parts(env, before))
    known = read_states(env.stores, scanned.uri(), secret=secret)
    if known is None:
        return
    states = dataclasses.replace(scanned, window=now)
    to_scan = any(len({block.group for block in blocks}) > 1 for blocks in changed.values())
    others = {block.number for blocks in changed.values() for block in blocks}
    kept = {number: state for number, state in known.items() if number not in others}
    write_states(env.stores, states.known_uri if to_scan else states.uri(), kept, secret=secret)


def drop_unsealed_states(env: Environment, window: Window, options: GenerationOptions, groups: Sequence[Group]) -> None:
    """Remove unsealed states of a window that failed its proof, so that a new scan finds them again."""
    if not make_format(options.record_format).needs_scan:
        return
    states = EntryStates.of(env, window, options, groups[0].ref.generation if groups else None)
    secret = env.window_secret(window.id)
    for uri in (states.uri_now(env.stores), *(states.group_uri(group.ref.group) for group in groups)):
        if read_states(env.stores, uri, secret=secret) is None:
            env.stores.remove(uri)


def without_files(env: Environment, window: Window, generation: int | None) -> str:
    """Return a key, for names, of the files that only this generation leaves out; empty if there are none."""
    if generation is None:
        return ""
    alone = set(excluded_files(env.ledger, window.id, generation)) - set(excluded_files(env.ledger, window.id))
    return f"-without-{digest(str(sorted(alone)))[:12]}" if alone else ""


def format_key(manifest_hash: str, options: GenerationOptions) -> str:
    """Return a key of a manifest and a record format, for the names of files that depend on both."""
    return digest(manifest_hash, options_digest(options.record_format.to_json()))[:12]


def spans_groups(groups: Sequence[Group], options: GenerationOptions) -> bool:
    """Return whether blocks of one file that must be scanned are in different groups; `groups` are in order."""
    fmt = make_format(options.record_format)
    borders = ((left.planned.last_path, right.planned.first_path) for left, right in pairwise(groups))
    return any(last == first and must_scan(fmt, first) for last, first in borders)


def scan(env: Environment, ref: WindowRef, *, submitter: Submitter) -> bool:
    """Make sure that the entry states of files that span groups are known; return whether a scan was needed.

    The states depend only on the frozen file versions and the format, so a repeated scan writes the same file.

    Raises:
        CompleteError: when the window is published or verified.
        BlockReadError: the error that the Spark application reported.
    """
    planned = PlannedScan.of(env, ref, submitter=submitter)
    if planned is None:
        return False
    while not planned.run(planned.scan):
        pass
    end_scan(env.ledger, ref.window, get_window(env.ledger, ref.window).scan_epoch)
    return True


@dataclass(frozen=True, kw_only=True)
class PlannedScan:
    """A scan that a window needs before its groups can be read."""

    env: Environment
    ref: WindowRef
    generation: Generation
    states: EntryStates
    uri: str  # of the states
    submitter: Submitter

    @classmethod
    def of(cls, env: Environment, ref: WindowRef, *, submitter: Submitter) -> Self | None:
        """Return the scan that a window needs, or None if it does not need one, or its states are known.

        Raises:
            CompleteError: when the window is published or verified.
        """
        env.require(ref)
        if not ref.needs_scan or ref.status != "read":
            return None
        generation = latest_generation(env.ledger, ref.window)
        if generation.state in FINISHED:
            msg = f"window {ref.window} is {generation.state}; clear the run from its plan on to rebuild it"
            raise CompleteError(msg)
        window = as_read_by(get_window(env.ledger, ref.window), generation)
        options = generation.as_options()
        states = EntryStates.of(env, window, options, ref.generation)
        uri = states.uri_now(env.stores)
        if read_states(env.stores, uri, secret=window_secret(env, window.id, submitter)) is not None:
            if window.scan_epoch and window.scanned_at is None:  # another process waited for that application
                end_scan(env.ledger, window.id, window.scan_epoch)
            env.observer.log(f"window {ref.window}: scanned already")
            return None
        return cls(env=env, ref=ref, generation=generation, states=states, uri=uri, submitter=submitter)

    def run(self, work: Callable[[ScanSpec], T], *, epoch: int | None = None) -> T | None:
        """Return the result of the work for a specification, or None if a file was excluded and it must be repeated.

        It belongs to the try with this epoch, or to a new try; the driver of the previous try is then stopped.
        """
        if epoch is None:
            epoch = begin_scan(self.env.ledger, self.ref.window)
            self.stop(epoch - 1, f"epoch {epoch} has taken over")
        spec = self._spec(epoch)
        try:
            with naming_remedy(self.env, self.generation):
                return work(spec)
        except (FileMissingError, FileChangedError) as error:
            failed = FailedTry(who=_WHO, left_out=spec.excluded)
            window, options = self.states.window, self.states.options
            if not excluded_by_policy(self.env, window, options.policies, error, failed):
                self._record(epoch, error)
                raise
            return None
        except BaseException as error:
            self.stop(epoch, str(error))
            if not self.submitter.keeps_secrets:
                cast("DetachedSubmitter", self.submitter).kill(None)
            self._record(epoch, error)
            raise

    def _record(self, epoch: int, error: BaseException) -> None:
        with suppress(BlockReadError):  # without the ledger, the scan's own error counts
            fail_scan(self.env.ledger, self.ref.window, epoch, f"{type(error).__name__}: {error}")

    def stop(self, epoch: int, why: str) -> None:
        """Stop the driver of a try on its cluster; even if that fails, its files never count for another try."""
        if self.submitter.keeps_secrets:  # the driver ends with the process that started it
            return
        uri = f"{scan_folder(self.uri, epoch)}/{SPEC_NAME}"
        with suppress(BlockReadError):
            submission = Submission(spec_uri=uri, spec_hash=content_hash(read_small(self.env.stores, uri, _MOST_BYTES)))
            write_stop(self.env.stores, submission, why)

    @property
    def epoch(self) -> int:
        """The epoch of the newest try; 0 before the first one."""
        return self.states.window.scan_epoch

    def scan(self, spec: ScanSpec) -> bool:
        """Run the application to its end; return True."""
        submission = write_submission(self.env, spec, self.submitter)
        run_submission(self.env, submission, self.submitter, name=scan_name(spec.window, spec.epoch))
        return True

    def _spec(self, epoch: int) -> ScanSpec:
        window, states, generation = self.states.window, self.states, self.ref.generation
        return ScanSpec(
            window=window.id,
            feed=window.feed,
            generation=generation,
            manifest_uri=window.manifest_uri,
            manifest_hash=window.manifest_hash,
            epoch=epoch,
            folder=scan_folder(self.uri, epoch),
            options=states.options,
            excluded=tuple(excluded_files(self.env.ledger, window.id, generation)),
            part_states=states.of_parts,
            readers=window.readers,
            entry_states_uri=self.uri,
            known_states_uri=states.known_uri,
        )
