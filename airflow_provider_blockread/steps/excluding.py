"""Excluding files, by hand or by policy: a file that is gone or has changed must not block its feed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby

from airflow_provider_blockread.blocks import Block
from airflow_provider_blockread.blocks.ids import same_version
from airflow_provider_blockread.errors import (
    ExchangeError,
    FileChangedError,
    FileMissingError,
    PrunedError,
    SourceError,
    StateError,
    shell_word,
)
from airflow_provider_blockread.ledger.model import Window
from airflow_provider_blockread.ledger.windows.exclusions import (
    InPlan,
    check_exclusion,
    exclude_file,
    excluded_files,
    list_exclusions,
)
from airflow_provider_blockread.ledger.windows.generations import (
    PRUNED,
    latest_generation,
    list_groups,
    published_generation,
)
from airflow_provider_blockread.ledger.windows.parts import windows_behind
from airflow_provider_blockread.ledger.windows.progress import window_progress
from airflow_provider_blockread.ledger.windows.queries import get_window, list_parts
from airflow_provider_blockread.options import Policies
from airflow_provider_blockread.steps.intent import Intent, window_intent
from airflow_provider_blockread.steps.model import AsJson, Environment, Published
from airflow_provider_blockread.storage.versions import is_no_file

_SHOWN = 10  # files that the log names
_ERRORS = {"missing": FileMissingError, "changed": FileChangedError}


@dataclass(frozen=True, kw_only=True)
class Excluded(AsJson):
    """A file that a window leaves out, and the groups that are read again for it: none if it was already left out."""

    window: str
    path: str
    reason: str
    groups: tuple[int, ...]


def propose_excluding(env: Environment, window: Window, path: str, *, reason: str) -> Intent:
    """Return what `exclude` would do, without changing anything.

    Raises:
        SourceError: when the window does not hold the file.
        StateError: as `exclude` does.
    """
    plan = _find(env, window, path)
    number, replaces, file = check_exclusion(env.ledger, window.id, path, planned=plan.id)
    behind = windows_behind(env.ledger, window.id, path)
    if behind:
        msg = (
            f"window {window.id} reads a part of {path}, and window {behind[0]} continues after it; begin with"
            f" `blockread windows exclude {behind[0]} {shell_word(path)} --reason {shell_word(reason)}`"
        )
        raise StateError(msg)
    if file in excluded_files(env.ledger, window.id, number):
        return Intent(action="exclude", windows=(window_intent(window, f"{path} is left out already", does=False),))
    done = {g.ref.group for g in list_groups(env.ledger, window.id, number) if g.state == "done"}
    fate = "waits for a later window" if reason in {"missing", "changed"} else "no later window reads it"
    of = f"generation {number}, so that its records go when that is published" if replaces else "it"
    again = _read_again([group for group in plan.groups if group in done])
    what = f"now {window_progress(env.ledger, window.id).dated}; {path} is left out of {of}, and {fate}{again}"
    return Intent(action="exclude", windows=(window_intent(window, what),))


def exclude(env: Environment, window: Window, path: str, *, reason: str, who: str) -> Excluded:
    """Leave a file out of an unpublished window, or out of its rebuild; groups that hold it are read again.

    It may be repeated.

    Raises:
        SourceError: when the window does not hold the file.
        StateError: when the window is not open, or is published and not being rebuilt; or when it reads a part of the
            file, and is published or another window continues after it.
    """
    plan = _find(env, window, path)
    _, again = exclude_file(env.ledger, window.id, path, reason=reason, who=who, plan=plan)
    env.observer.log(f"{path} is excluded from window {window.id}{_read_again(again)}")
    return Excluded(window=window.id, path=path, reason=reason, groups=tuple(again))


def _read_again(groups: list[int]) -> str:
    return f"; groups {', '.join(map(str, groups))} are read again" if groups else ""


def _find(env: Environment, window: Window, path: str) -> InPlan:
    """Return what a window's plan has of a file; an empty file has no block."""
    if window.state != "open":
        msg = f"window {window.id} is {window.state} and holds no files; list windows with `blockread windows list`"
        raise StateError(msg)
    try:
        shown = latest_generation(env.ledger, window.id)
        blocks = [block for block in env.blocks(window, shown) if block.version.path == path]
    except ExchangeError as error:
        if window.pruned_at is None:
            raise
        msg = f"window {window.id} was pruned on {window.pruned_at:%Y-%m-%d %H:%M:%SZ}: {PRUNED}"
        raise PrunedError(msg) from error
    if not blocks:
        return InPlan()
    return InPlan(sorted({block.group for block in blocks}), blocks[0].file, blocks[0].version)


@dataclass(frozen=True, kw_only=True)
class FailedTry:
    """A read or scan that stopped at a file: who tried, and which files it had already left out."""

    who: str
    left_out: Collection[int]
    group: int | None = None  # None for all groups of the window


def warn_of_losses(env: Environment, done: Published) -> None:
    """Warn about what is not in the output of a window that was just published: excluded files, and bad records."""
    if done.excluded or done.bad_records:
        env.observer.warn(done.message)
    for out in list_exclusions(env.ledger, done.window, done.generation, limit=_SHOWN):
        env.observer.warn(f"window {done.window}: {out.path} is excluded ({out.reason}, by {out.who})")


def excluded_by_policy(
    env: Environment, window: Window, policies: Policies, error: SourceError, failed: FailedTry
) -> bool:
    """Exclude the file that an error says is missing or changed, if the policies allow it; return whether they did.

    The error is verified first: a file that the window does not hold, that is still as it was planned, or that was
    already left out when the error occurred is not excluded, so each further try reads fewer files.

    A read stops at the first such file, and another try costs an application. Therefore all files of the group, or of
    the window, are checked now, and those that the policies allow are excluded too. A published window never loses
    records by a policy: a source that was tidied up since must not empty the output of a window that is read again.

    The window is passed as its generation reads it, with the policies of that generation.

    Raises:
        SourceError: when the policies allow it, but the window is published with the file's records.
    """
    rules = {"missing": policies.on_missing, "changed": policies.on_changed}
    reads = (block for block in env.blocks(window) if block.version.path == error.path)
    found = dict(_unlike_planned(env, window, (block for block in reads if block.file not in failed.left_out)))
    reason = found.get(error.path)
    if reason is None or rules[reason] != "exclude":
        return False
    if published_generation(env.ledger, window.id) is not None:
        raise _ERRORS[reason](_kept(env, window, error.path, reason), path=error.path) from error
    known = set(excluded_files(env.ledger, window.id))
    group = (block for block in env.blocks(window, group=failed.group) if block.file not in known)
    for path, why in _unlike_planned(env, window, group):
        if rules[why] == "exclude":
            found.setdefault(path, why)
    for path, why in found.items():
        for behind in windows_behind(env.ledger, window.id, path):  # they cannot be published without it
            _exclude(env, get_window(env.ledger, behind), {path: why}, failed.who)
            env.observer.warn(f"{path} is excluded from window {behind} too, which continues after this part of it")
    _exclude(env, window, found, failed.who)
    _tell(env, window, found)
    return True


def _tell(env: Environment, window: Window, found: Mapping[str, str]) -> None:
    for path in list(found)[:_SHOWN]:
        env.observer.warn(f"{path} is {found[path]} and now excluded from window {window.id}")
    if len(found) > _SHOWN:
        env.observer.warn(f"and so are {len(found) - _SHOWN:,} more")


def _kept(env: Environment, window: Window, path: str, reason: str) -> str:
    verifies = latest_generation(env.ledger, window.id).mode == "verify"
    in_part = path in {part.path for part in list_parts(env.ledger, window.id)}
    newer = leave = ""
    if reason == "changed" and not in_part:
        newer = f"; or read what is there now with `blockread reprocess --window {window.id}`"
    if not (verifies or in_part):
        command = f"`blockread windows exclude {window.id} {shell_word(path)} --reason {reason}`"
        leave = f" or leave it out with {command} and retry;"
    return (
        f"{path} is {reason}, and window {window.id} is published with its records, which no policy removes: restore"
        f" it and retry{newer};{leave} or give this {'verification' if verifies else 'rebuild'} up with"
        f" `blockread windows abandon {window.id}`, and what is published stays"
    )


def _exclude(env: Environment, window: Window, found: Mapping[str, str], who: str) -> None:
    groups: dict[str, set[int]] = {path: set() for path in found}
    for block in env.blocks(window):
        if block.version.path in groups:
            groups[block.version.path].add(block.group)
    for path, holders in groups.items():
        exclude_file(env.ledger, window.id, path, reason=found[path], who=who, plan=InPlan(sorted(holders)))


def _unlike_planned(env: Environment, window: Window, blocks: Iterable[Block]) -> Iterator[tuple[str, str]]:
    """Yield the files that are no longer as planned, with `missing` or `changed`; other errors are ignored."""
    options = latest_generation(env.ledger, window.id).as_options()
    stores = env.stores.within(options.bounds)
    for _, same in groupby(blocks, key=lambda block: block.file):
        planned = next(same).version
        try:
            if not same_version(stores.stat(planned.path), planned):
                yield planned.path, "changed"
        except FileMissingError:
            yield planned.path, "missing"
        except SourceError:  # such as denied access, which the read reports
            if is_no_file(stores, planned.path):
                yield planned.path, "changed"
