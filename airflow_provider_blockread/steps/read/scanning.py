"""Scan: find the entry states of files that span groups, once a window and format.

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
from airflow_provider_blockread.errors import (
    BlockReadError,
    CompleteError,
    FileChangedError,
    FileMissingError,
)
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
from airflow_provider_blockread.steps.read.submitting import (
    run_submission,
    window_secret,
    write_submission,
)
from airflow_provider_blockread.steps.remedies import naming_remedy
from airflow_provider_blockread.storage.stores import Stores

_WHO = "the scan step"
_MOST_BYTES = 2**26  # of a specification
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class EntryStates:
    """The URIs of a window's entry states, which follow from its manifest, the record format, and the parts before.

    `of_parts` has the states (by file) of files that are entered where a part ends that another window reads; `without`
    identifies the files that only one generation leaves out.
    """

    window: Window
    options: GenerationOptions
    of_parts: tuple[tuple[int, int], ...]
    without: str = ""

    @classmethod
    def of(cls, env: Environment, window: Window, options: GenerationOptions, generation: int | None = None) -> Self:
        """Return those of a window under a generation's options, or of what all of its generations read.

        Raises:
            ConflictError: when the states at the beginning of parts are not known yet.
        """
        states = _of_parts(env, window) if make_format(options.record_format).needs_scan else ()
        return cls(window=window, options=options, of_parts=states, without=without_files(env, window, generation))

    def uri(self, folder: str, group: int | None = None) -> str:
        """Return the file of the states of files that span groups, or of the other files of a group."""
        key, name = format_key(self.window.manifest_hash, self.options), "" if group is None else f"-g{group}"
        begun = f"-{digest(str(self.of_parts))[:12]}" if self.of_parts else ""
        return f"{folder}/states-{key}{begun}{name}.json"

    def uri_now(self, stores: Stores, folder: str) -> str:
        """Return the file of the states of files that span groups, as this generation needs them.

        What was found of all files serves one that leaves some out, and never the other way round.
        """
        uri = self.uri(folder)
        if not self.without or stores.exists(uri):
            return uri
        return f"{uri.removesuffix('.json')}{self.without}.json"

    def known_uri(self, folder: str) -> str:
        """Return the file of states that are known before the scan, from an earlier plan of the window."""
        return f"{self.uri(folder).removesuffix('.json')}-known.json"


def _of_parts(env: Environment, window: Window) -> tuple[tuple[int, int], ...]:
    return tuple((file, state) for file, (_, state) in part_ends_before(env.ledger, window.id).items())


def carry_states(
    env: Environment, before: Window, now: Window, options: GenerationOptions, changed: Mapping[int, Collection[Block]]
) -> None:
    """Keep what a scan found under an earlier plan of a window, except for blocks that are others now.

    A page may ask for this: a user's own format, which is code, is not made.

    Args:
        env: ledger and stores.
        before: the window as it was read.
        now: the same with a plan that differs in some blocks only; blocks keep their numbers.
        options: of the generation that is to read it.
        changed: the earlier blocks of those files that have changed, by file.
    """
    if not now.scan_epoch:
        return
    folder = window_folder(options.sink.work_area, now.feed, now.id)
    secret = env.window_secret(now.id)
    scanned = EntryStates(window=before, options=options, of_parts=_of_parts(env, before))
    known = read_states(env.stores, scanned.uri(folder), secret=secret)
    if known is None:
        return
    states = dataclasses.replace(scanned, window=now)
    to_scan = any(len({block.group for block in blocks}) > 1 for blocks in changed.values())
    others = {block.number for blocks in changed.values() for block in blocks}
    kept = {number: state for number, state in known.items() if number not in others}
    write_states(env.stores, states.known_uri(folder) if to_scan else states.uri(folder), kept, secret=secret)


def drop_unsealed_states(env: Environment, window: Window, options: GenerationOptions, groups: Sequence[Group]) -> None:
    """Remove what is kept of a window that failed its proof and no secret vouches for, so that it is found again."""
    if not make_format(options.record_format).needs_scan:
        return
    folder = window_folder(options.sink.work_area, window.feed, window.id)
    states = EntryStates.of(env, window, options, groups[0].ref.generation if groups else None)
    secret = env.window_secret(window.id)
    for uri in (states.uri_now(env.stores, folder), *(states.uri(folder, group.ref.group) for group in groups)):
        if read_states(env.stores, uri, secret=secret) is None:
            env.stores.remove(uri)


def without_files(env: Environment, window: Window, generation: int | None) -> str:
    """Return what stands, in names, for the files that a generation alone leaves out; nothing where it leaves none."""
    if generation is None:
        return ""
    alone = set(excluded_files(env.ledger, window.id, generation)) - set(excluded_files(env.ledger, window.id))
    return f"-without-{digest(str(sorted(alone)))[:12]}" if alone else ""


def format_key(manifest_hash: str, options: GenerationOptions) -> str:
    """Return what stands for a manifest and a record format in the names of what follows from the two."""
    return digest(manifest_hash, options_digest(options.record_format.to_json()))[:12]


def spans_groups(groups: Sequence[Group], options: GenerationOptions) -> bool:
    """Return whether blocks of a file that must be scanned are in different groups; groups are in order."""
    fmt = make_format(options.record_format)
    borders = ((left.planned.last_path, right.planned.first_path) for left, right in pairwise(groups))
    return any(last == first and must_scan(fmt, first) for last, first in borders)


def scan(env: Environment, ref: WindowRef, *, submitter: Submitter) -> bool:
    """Make sure that the entry states of files that span groups are known; return whether a scan was needed.

    The states are a function of the frozen file versions and the format, so a repeated scan writes the same file.

    Raises:
        CompleteError: when the window is published or verified.
        BlockReadError: what the Spark application left as its error.
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
        """Return the scan that a window needs; None if it needs none, or its states are known.

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
        options = GenerationOptions.from_json(generation.options)
        folder = window_folder(options.sink.work_area, ref.feed, ref.window)
        states = EntryStates.of(env, window, options, ref.generation)
        uri = states.uri_now(env.stores, folder)
        if read_states(env.stores, uri, secret=window_secret(env, window.id, submitter)) is not None:
            if window.scan_epoch and window.scanned_at is None:  # by an application that another process waited for
                end_scan(env.ledger, window.id, window.scan_epoch)
            env.observer.log(f"window {ref.window}: scanned already")
            return None
        return cls(env=env, ref=ref, generation=generation, states=states, uri=uri, submitter=submitter)

    def run(self, work: Callable[[ScanSpec], T], *, epoch: int | None = None) -> T | None:
        """Return what the work for a specification returns; None when a file was excluded, so that it is repeated.

        It is of the try with this epoch, or of a new one; the driver of the try before ends then.
        """
        if epoch is None:
            epoch = begin_scan(self.env.ledger, self.ref.window)
            self.stop(epoch - 1, f"epoch {epoch} has taken over")
        spec = _spec(self.env, self.ref, self.states, self.uri, epoch)
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
        with suppress(BlockReadError):  # without its ledger, a scan fails with its own error
            fail_scan(self.env.ledger, self.ref.window, epoch, f"{type(error).__name__}: {error}")

    def stop(self, epoch: int, why: str) -> None:
        """Stop the driver of a try on its cluster; even if that fails, its files never count for another try."""
        if self.submitter.keeps_secrets:  # it ends with the process that started it, or on its server
            return
        uri = f"{scan_folder(self.uri, epoch)}/{SPEC_NAME}"
        with suppress(BlockReadError):
            submission = Submission(spec_uri=uri, spec_hash=content_hash(read_small(self.env.stores, uri, _MOST_BYTES)))
            write_stop(self.env.stores, submission, why)

    @property
    def epoch(self) -> int:
        """That of the newest try; 0 before the first one."""
        return self.states.window.scan_epoch

    def scan(self, spec: ScanSpec) -> bool:
        """Run the application to its end; return True."""
        submission = write_submission(self.env, spec, self.submitter)
        run_submission(self.env, submission, self.submitter, name=scan_name(spec.window, spec.epoch))
        return True


def _spec(env: Environment, ref: WindowRef, states: EntryStates, uri: str, epoch: int) -> ScanSpec:
    window = states.window
    return ScanSpec(
        window=window.id,
        feed=window.feed,
        generation=ref.generation,
        manifest_uri=window.manifest_uri,
        manifest_hash=window.manifest_hash,
        epoch=epoch,
        folder=scan_folder(uri, epoch),
        options=states.options,
        excluded=tuple(excluded_files(env.ledger, window.id, ref.generation)),
        part_states=states.of_parts,
        readers=window.readers,
        entry_states_uri=uri,
        known_states_uri=states.known_uri(uri.rpartition("/")[0]),
    )
