"""Excluding files that are gone or changed, where the policy says so: a vanished file must not wedge its feed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby

from airflow_provider_blockread.blocks import Block
from airflow_provider_blockread.blocks.ids import same_version
from airflow_provider_blockread.errors import FileMissingError, SourceError
from airflow_provider_blockread.exchange.manifest import read_manifest
from airflow_provider_blockread.ledger.exclusions import exclude_file, excluded_files
from airflow_provider_blockread.ledger.generations import published_generation
from airflow_provider_blockread.ledger.model import Window
from airflow_provider_blockread.ledger.parts import windows_behind
from airflow_provider_blockread.ledger.queries import get_window
from airflow_provider_blockread.options import Policies
from airflow_provider_blockread.steps.model import Environment

_TOLD = 10  # files that the log names


def excluded_by_policy(
    env: Environment, window: Window, policies: Policies, error: SourceError, *, who: str, group: int | None = None
) -> bool:
    """Exclude the file that an error says is missing or changed, if the policies allow it; tell whether they did.

    A read stops at the first of them, and another try costs an application: so all files of the group, or of the
    window, are looked at now, and those that the policies let go are excluded with it. What is published loses no
    records by a policy: a source that was tidied up since must not empty the output of a window that is read again.

    Raises:
        SourceError: when the policies let the file go, but the window is published with its records.
    """
    rules = {"missing": policies.on_missing, "changed": policies.on_changed}
    reason = "missing" if isinstance(error, FileMissingError) else "changed"
    if not error.path or rules[reason] != "exclude":
        return False
    if published_generation(env.ledger, window.id) is not None:
        raise type(error)(_kept(window, error.path, reason), path=error.path) from error
    known = set(excluded_files(env.ledger, window.id))
    found = {error.path: reason}
    for path, why in _unlike_planned(env, (b for b in _blocks(env, window, group) if b.file not in known)):
        if rules[why] == "exclude":
            found.setdefault(path, why)
    for path, why in found.items():
        for behind in windows_behind(env.ledger, window.id, path):  # they cannot be published without this part
            _exclude(env, get_window(env.ledger, behind), {path: why}, who)
            env.log(f"WARNING: {path} is excluded from window {behind} too, which goes on behind this part of it")
    _exclude(env, window, found, who)
    _tell(env, window, found)
    return True


def _tell(env: Environment, window: Window, found: Mapping[str, str]) -> None:
    for path in list(found)[:_TOLD]:
        env.log(f"WARNING: {path} is {found[path]} and now excluded from window {window.id}")
    if len(found) > _TOLD:
        env.log(f"WARNING: and so are {len(found) - _TOLD:,} more")


def _kept(window: Window, path: str, reason: str) -> str:
    newer = "; or read what is there now with `blockread reprocess`" if reason == "changed" else ""
    return (
        f"{path} is {reason}, and window {window.id} is published with its records, which no policy takes away: restore"
        f" it and retry{newer}; or leave it out with `blockread windows exclude {window.id} {path}` and retry; or give"
        f" this rebuild up with `blockread windows abandon {window.id}`, and what is published stays"
    )


def _exclude(env: Environment, window: Window, found: Mapping[str, str], who: str) -> None:
    for path, groups in _groups_of(_blocks(env, window), found).items():
        exclude_file(env.ledger, window.id, path, reason=found[path], who=who, groups=groups)


def groups_of(blocks: Iterable[Block], path: str) -> list[int]:
    """Return the numbers of the groups that hold blocks of a path, in order."""
    return _groups_of(blocks, [path])[path]


def _groups_of(blocks: Iterable[Block], paths: Iterable[str]) -> dict[str, list[int]]:
    groups: dict[str, dict[int, None]] = {path: {} for path in paths}
    for block in blocks:
        if block.version.path in groups:
            groups[block.version.path][block.group] = None
    return {path: list(numbers) for path, numbers in groups.items()}


def _blocks(env: Environment, window: Window, group: int | None = None) -> Iterator[Block]:
    return read_manifest(env.stores, window.manifest_uri, window.manifest_hash, group=group)


def _unlike_planned(env: Environment, blocks: Iterable[Block]) -> Iterator[tuple[str, str]]:
    """Yield the files that are no longer what was planned, with `missing` or `changed`; others cannot be told here."""
    for _, same in groupby(blocks, key=lambda block: block.file):
        planned = next(same).version
        try:
            if not same_version(env.stores.stat(planned.path), planned):
                yield planned.path, "changed"
        except FileMissingError:
            yield planned.path, "missing"
        except SourceError:
            continue  # such as denied access: the read says so
