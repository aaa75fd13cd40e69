"""Choosing files of published windows, and the groups that must be read again for them."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property

from airflow_provider_blockread.blocks import Block, FileVersion
from airflow_provider_blockread.blocks.ids import same_version
from airflow_provider_blockread.errors import FileMissingError, OptionsError, SourceError
from airflow_provider_blockread.ledger.model import Generation, Window
from airflow_provider_blockread.ledger.windows.exclusions import excluded_files
from airflow_provider_blockread.ledger.windows.generations import list_groups
from airflow_provider_blockread.ledger.windows.queries import files_with_bad_records
from airflow_provider_blockread.options.upkeep import FILE_STATUSES
from airflow_provider_blockread.steps.model import AsJson, Environment
from airflow_provider_blockread.storage import uris
from airflow_provider_blockread.storage.listing.globs import compile_glob
from airflow_provider_blockread.storage.stores import Stores
from airflow_provider_blockread.storage.versions import is_no_file


@dataclass(frozen=True, kw_only=True)
class FileChoice(AsJson):
    """Which files of a window are meant: those that match both `path` and `status`.

    `path` is a glob on the file's URI; without a scheme or a leading slash it matches at any depth.

    Raises:
        OptionsError: when the status is not a known word, or the path is not a valid glob.
    """

    path: str | None = None
    status: str = "done"

    def __post_init__(self) -> None:
        if self.status not in FILE_STATUSES:
            msg = f"status must be {', '.join(FILE_STATUSES)}, not {self.status!r}"
            raise OptionsError(msg)
        _ = self._regex  # refuses an invalid glob

    @cached_property
    def _regex(self) -> re.Pattern[str] | None:
        return None if self.path is None else _compiled(self.path)

    def matches(self, path: str) -> bool:
        """Return whether a canonical path is meant."""
        return self._regex is None or self._regex.fullmatch(path) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewerVersion:
    """A file whose version in the store differs from the one that was read."""

    file: int  # the ledger's id of the version that was read
    found: FileVersion
    in_part: bool  # the window reads only a part of it


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """How many files of a window are meant, and the groups that are read again for them."""

    files: int
    groups: frozenset[int]
    lost: frozenset[int]  # groups whose results are gone, so that they must also be read again
    newer: tuple[NewerVersion, ...] = ()  # of the files, those with another version in the store
    gone: tuple[str, ...] = ()  # paths of files that the store no longer has

    @property
    def again(self) -> frozenset[int]:
        """All groups that are read again."""
        return self.groups | self.lost

    @property
    def renewed(self) -> list[int]:
        """The ids of the files that are read in a newer version."""
        return [newer.file for newer in self.newer]


def choose(env: Environment, window: Window, shown: Generation, choice: FileChoice) -> Chosen:
    """Return what must be done to read these files of a published window again; each is checked in its store."""
    files: set[int] = set()
    groups: set[int] = set()
    newer: list[NewerVersion] = []
    gone: list[str] = []
    wanted = _wanted(env, window, shown, choice)
    excluded = set(excluded_files(env.ledger, window.id, shown.number))
    stores = env.stores.within(shown.as_options().bounds)
    for block in env.blocks(window, shown):
        if block.file in excluded or (wanted is not None and block.file not in wanted):
            continue
        if choice.matches(block.version.path):
            if block.file not in files:
                _compare(stores, block, newer, gone)
            files.add(block.file)
            groups.add(block.group)
    lost = frozenset() if not files else _lost(env, window, shown)
    return Chosen(files=len(files), groups=frozenset(groups), lost=lost - groups, newer=tuple(newer), gone=tuple(gone))


def choose_newer(env: Environment, window: Window, latest: Generation) -> Chosen | None:
    """Return what must be done to read changed files of an unpublished window as they are now, or None without changes.

    The groups to read are those with changed files, and those that are not done.
    """
    chosen = choose(env, window, latest, FileChoice())
    if not chosen.newer:
        return None
    changed = {version.file for version in chosen.newer}
    groups = frozenset(block.group for block in env.blocks(window, latest) if block.file in changed)
    return replace(chosen, files=len(changed), groups=groups, lost=_lost(env, window, latest) - groups)


def _compare(stores: Stores, block: Block, newer: list[NewerVersion], gone: list[str]) -> None:
    """Record the file of a block if it has changed, or is gone, since it was read."""
    version = block.version
    try:
        found = stores.stat(version.path)
    except SourceError as error:
        if not isinstance(error, FileMissingError) and not is_no_file(stores, version.path):
            raise
        gone.append(version.path)
        return
    if not same_version(found, version):
        in_part = (block.part_start, block.part_end) != (0, version.size)
        newer.append(NewerVersion(file=block.file, found=found, in_part=in_part))


def _wanted(env: Environment, window: Window, shown: Generation, choice: FileChoice) -> set[int] | None:
    """Return the ids of the files with the chosen status, or None for all files."""
    if choice.status == "done":
        return None
    policy = shown.as_options().policies.on_bad_record
    if choice.status == "quarantined" and policy != "quarantine":
        return set()
    return files_with_bad_records(env.ledger, window.id)


def _lost(env: Environment, window: Window, shown: Generation) -> frozenset[int]:
    sink = shown.as_options().sink
    copied = shown.published_at is not None and not sink.keeps_files
    groups = list_groups(env.ledger, window.id, shown.number)
    return frozenset(
        group.ref.group
        for group in groups
        if copied or group.state != "done" or not group.result_uri or not env.stores.exists(group.result_uri)
    )


def _compiled(path: str) -> re.Pattern[str]:
    if "://" not in path and not path.startswith("/"):
        return re.compile(f"[^:]+:/+(?:.*/)?{compile_glob(path).regex}", re.DOTALL)
    scheme, slashes, rest = re.split("(:/+)", uris.canonical(path), maxsplit=1)
    glob = f"/{rest}/" if path.endswith("/") else f"/{rest}"
    return re.compile(re.escape(scheme + slashes) + f"(?:{compile_glob(glob).regex})", re.DOTALL)
