"""Discovery: record the files at the source in the feed's index, and report what is left out and why."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import cast

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.errors import FileMissingError, SourceError
from airflow_provider_blockread.ledger.feeds import require_feed
from airflow_provider_blockread.ledger.files.admission import Admission
from airflow_provider_blockread.ledger.files.discovery import record_files
from airflow_provider_blockread.ledger.model import Discovered, LateFiles
from airflow_provider_blockread.ledger.overview.feed_options import newest_sources
from airflow_provider_blockread.ledger.windows.selection import late_files
from airflow_provider_blockread.options import FileList, FileSource, from_json
from airflow_provider_blockread.options.parsing.sizes import first_of, plural
from airflow_provider_blockread.steps.model import Environment, PlanRequest, WindowRef
from airflow_provider_blockread.storage.listing.files import list_files
from airflow_provider_blockread.storage.listing.held_back import HeldBack
from airflow_provider_blockread.storage.listing.roots import SourceRoots, bounds_of
from airflow_provider_blockread.storage.listing.upstream import named_files, read_list

_SHOWN = 10  # files that the log names


def discover(env: Environment, request: PlanRequest) -> Discovered:
    """Record the files at the source, or those that upstream named, in the feed's index, and return what was found."""
    held = HeldBack()
    rules = Admission.of(request.source, request.selection, env.ledger.now())
    found = record_files(
        env.ledger,
        request.feed,
        _found(env, request, held),
        rules=replace(rules, reads_empty=request.generation.record_format.reads_empty),
        complete=request.files is None,
    )
    found = replace(found, held_back=dict(held.counts))
    env.observer.count("plan.new_files", found.new)
    env.observer.log(_describe(request, found, held))
    for warning in _warnings(found):
        env.observer.warn(f"feed {request.feed}: {warning}")
    return found


def keep_named(env: Environment, request: PlanRequest, ref: WindowRef) -> WindowRef:
    """Record what upstream names for a window whose plan is frozen, since no listing may ever show those files."""
    if request.files is None:
        return ref
    try:
        found = discover(env, request)
    except SourceError as error:  # they may have been read and cleaned long ago
        env.observer.warn(str(error))
        return ref
    beside = found.new + found.waiting
    if not beside:
        return ref
    which = plural(beside, "named file is", "named files are")
    note = f"{which} not in window {ref.window}, whose plan is frozen; the next window with another key takes them"
    env.observer.warn(f"feed {request.feed}: {note}")
    return replace(ref, message=f"{ref.message}; {note}")


def scope_of(request: PlanRequest) -> Callable[[str], bool]:
    """Return whether a window of the request may take a file of this path.

    It takes files of its own source only, and not those that other plans of the feed have listed by another pattern or
    below another root. Files that upstream names need not match the patterns.
    """
    source = request.source
    if request.files is not None:
        source = FileSource(source.uris, hidden=True)
    return SourceRoots(source).may_list


def find_late(env: Environment, request: PlanRequest) -> LateFiles:
    """Return the files that wait in intervals planned before the files arrived, and that this window does not take."""
    if request.interval_ns is None or request.selection.late == "next":
        return LateFiles()
    feed = require_feed(env.ledger, request.feed)
    return late_files(env.ledger, [feed], besides=request.interval_ns)[feed]


def left_out(found: Discovered, late: LateFiles) -> dict[str, int]:
    """Return the number of files left out, by reason; reasons without files are omitted."""
    counts = {
        "modified": found.ignored,
        "untimed": found.untimed,
        "before_start": found.before_start,
        "cut_short": len(found.cut_short),
        "too_old": found.too_old,
        **found.held_back,
        "late": late.files,
    }
    return {reason: count for reason, count in counts.items() if count}


def describe_left_out(request: PlanRequest, found: Discovered, late: LateFiles) -> str:
    """Return the same as text to append to a sentence, or an empty string if nothing is left out.

    It is part of the window's reference, so it does not name paths; the log does.
    """
    counts = [f"{count:,} {_in_words(request, reason)}" for reason, count in left_out(found, late).items()]
    if late.files and request.selection.late == "reopen":
        counts[-1] += f": clear the runs of windows {', '.join(map(repr, late.windows))} to take them"
    return f"; left out: {', '.join(counts)}" if counts else ""


def _in_words(request: PlanRequest, reason: str) -> str:
    """Return in words why files are left out."""
    source, selection = request.source, request.selection
    return {
        "modified": f"modified after they were taken (on_modified={selection.on_modified!r})",
        "untimed": f"without a time (on_untimed={selection.on_untimed!r})",
        "before_start": f"before start_from={selection.start_from!r}",
        "cut_short": "read in part before they were modified or removed, without their rest",
        "too_old": f"older than max_age={selection.max_age!r}",
        "late": f"late for their interval (late={selection.late!r})",
        "young": f"younger than min_age={source.min_age!r}",
        "unmarked": f"without their done_marker={source.done_marker!r}",
        "too_small": f"smaller than min_size={source.min_size!r}",
        "too_large": f"larger than max_size={source.max_size!r}",
        "linked_out": f"behind links out of the roots (follow_links={source.follow_links!r})",
    }[reason]


def _found(env: Environment, request: PlanRequest, held: HeldBack) -> Iterable[FileVersion]:
    if request.files is None:
        now_s = env.ledger.now().timestamp()
        return list_files(
            env.stores, request.source, now_s=now_s, held=held, absent=partial(_may_be_empty, env, request)
        )
    stores = env.stores.within(bounds_of(request.source))
    paths = read_list(stores, request.files) if isinstance(request.files, FileList) else request.files
    return named_files(stores, request.source, paths, held)


def _may_be_empty(env: Environment, request: PlanRequest, error: FileMissingError) -> None:
    """Take a missing root for an empty folder in an object store, where a folder is gone with its last file.

    Raises:
        FileMissingError: when folders exist by themselves there, or when the feed's last listing had no such root.
    """
    listed = newest_sources(env.ledger, request.feed, finished=True)
    known = {root for source in listed for root in SourceRoots(cast("FileSource", from_json(source))).uris}
    if error.path not in known or env.stores.has_folders(error.path):
        raise error
    env.observer.log(f"feed {request.feed}: the source {error.path} holds no file now")


def _describe(request: PlanRequest, found: Discovered, held: HeldBack) -> str:
    text = f"feed {request.feed}: {plural(found.seen, 'file')} seen, {found.new:,} new"
    if found.waiting + found.returned:
        text += f", {found.waiting + found.returned:,} found earlier and in no window yet"
    for reason, count in found.held_back.items():
        text += f"; {count:,} {_in_words(request, reason)}, such as {', '.join(held.samples[reason])}"
    if found.modified:
        text += f", {found.modified:,} modified"
    if found.missing:
        text += f"; {found.missing:,} vanished before they were planned"
    if not found.seen and not found.held_back and request.files is None:
        source = request.source
        but = f", exclude={list(source.excludes)!r}" if source.excludes else ""
        text += f"; looked for pattern={list(source.patterns)!r}{but}, hidden={source.hidden!r}"
    return text


def _warnings(found: Discovered) -> Iterator[str]:
    """Yield warnings about what may have been left out unintentionally."""
    if found.ignored:
        yield (
            f"{plural(found.ignored, 'file')} modified after windows took them: ignored (on_modified='ignore'),"
            f" such as {', '.join(found.samples)}"
        )
    if found.untimed:
        yield (
            f"{plural(found.untimed, 'file')} without a known time: left out (on_untimed='ignore'),"
            f" such as {', '.join(found.untimed_samples)}"
        )
    if found.cut_short:
        yield (
            f"{plural(len(found.cut_short), 'file')} modified or gone when windows had read only a part, so that the"
            " rest of the old content is missing; restore them, undo these windows with `blockread windows undo`, or"
            " keep their output:"
            f" {first_of(found.cut_short, _SHOWN)}"
        )
