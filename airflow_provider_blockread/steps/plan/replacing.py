"""Newer versions of a window's files: described first, then planned in place of the older versions.

A published window reads them if a reprocess requests it; an unpublished one also if its run was cleared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from airflow_provider_blockread.blocks import Block, FileVersion
from airflow_provider_blockread.blocks.ids import digest, version_digest
from airflow_provider_blockread.errors import OptionsError, StateError
from airflow_provider_blockread.exchange.layout import window_folder
from airflow_provider_blockread.exchange.manifest import write_manifest
from airflow_provider_blockread.ledger.model import Generation, Window
from airflow_provider_blockread.ledger.windows.generations import (
    as_read_by,
    latest_generation,
    list_groups,
    published_generation,
)
from airflow_provider_blockread.ledger.windows.parts import giving_up, giving_up_parts
from airflow_provider_blockread.ledger.windows.replacing import NewerPlan, check_versions, record_versions, replaced_by
from airflow_provider_blockread.options import moment
from airflow_provider_blockread.options.parsing.sizes import first_of, format_bytes, plural
from airflow_provider_blockread.steps.intent import WindowIntent, window_intent
from airflow_provider_blockread.steps.model import Environment
from airflow_provider_blockread.steps.plan.choosing import Chosen, FileChoice, NewerVersion, choose
from airflow_provider_blockread.steps.plan.restoring import manifest_identity
from airflow_provider_blockread.steps.read.inferring import carry_schema
from airflow_provider_blockread.steps.read.scanning import carry_states

_SHOWN = 3  # files that a message names


def is_unseen(env: Environment, window: Window) -> bool:
    """Return whether a window is open, and nothing of it is published."""
    return window.state == "open" and published_generation(env.ledger, window.id) is None


def correction_intent(env: Environment, window: Window, mine: Generation | None, files: FileChoice) -> WindowIntent:
    """Return what reprocessing these files of an unpublished window would do.

    `mine` is the generation that an earlier call has begun, or None.
    """
    latest = latest_generation(env.ledger, window.id)
    if mine is not None:
        return window_intent(window, f"generation {latest.number}, now {latest.state}, is completed and published")
    if latest.state == "publishing":
        what = "left alone, since it is half published: clear its run, or repeat what ran it, to publish the rest first"
        return window_intent(window, what, does=False)
    chosen = choose(env, window, latest, files)
    if not chosen.newer:
        what = (
            "left alone, since it is not published and no selected file has changed: clear its run, or repeat"
            " `blockread run`, to finish it"
        )
        return window_intent(window, what, does=False)
    what = f"{describe_groups(window, chosen)}, as generation {latest.number + 1}, and the window is published"
    running = [g for g in list_groups(env.ledger, window.id, latest.number) if g.state == "running"]
    what += "".join(f"; group {group.ref.group} is being read by {group.owner}: that is fenced" for group in running)
    return window_intent(window, what, warnings=tuple(foreseen_failures(env, window, chosen)))


def describe_groups(window: Window, chosen: Chosen | None) -> str:
    """Return how many groups are read again, and which files in a newer version; `chosen` is None for all groups."""
    groups = plural(window.groups, "group")
    if chosen is None:
        return f"{plural(window.files, 'file')} ({format_bytes(window.bytes)}) in {groups} read again"
    what = f"{len(chosen.again):,} of {groups} read again for {plural(chosen.files, 'file')}"
    if chosen.lost:
        what += f", {len(chosen.lost):,} of them since they have no output files to take over"
    return what + (f" ({describe_newer(chosen.newer)})" if chosen.newer else "")


def foreseen_failures(env: Environment, window: Window, chosen: Chosen) -> Iterator[str]:
    """Yield why reading the chosen files will fail."""
    try:
        _refuse_parts(env, window, chosen.newer)
        check_versions(env.ledger, window, [newer.found for newer in chosen.newer])
    except (OptionsError, StateError) as error:
        yield f"this will fail: {error}"
    if chosen.gone:
        yield f"this will fail, as files are gone at the source: {first_of(chosen.gone, _SHOWN)}"


def describe_newer(newer: Sequence[NewerVersion]) -> str:
    """Return how many newer versions are read, and the first of them with sizes and times."""
    found = plural(len(newer), "newer version")
    return f"{found} in place of the planned: {first_of(map(_describe, newer), _SHOWN, between='; ')}"


def plan_newer(env: Environment, window: Window, shown: Generation, newer: Sequence[NewerVersion]) -> NewerPlan:
    """Return the plan of a generation that reads these versions, at least one, after writing its manifest.

    The plan that is changed is that of the generation `shown`: the published one, or the newest if none is published.

    Raises:
        OptionsError: when one of the files is read in parts, or its newer version has fewer bytes than it had blocks.
        StateError: when another window has taken one of the versions.
    """
    _refuse_parts(env, window, newer)
    base = as_read_by(window, shown)
    found = {version.file: version.found for version in newer}
    blocks: dict[int, list[Block]] = {file: [] for file in found}
    for block in env.blocks(base):
        if block.file in blocks:
            blocks[block.file].append(block)
    _refuse_small(env, window, found, blocks)
    ids = record_versions(env.ledger, window, found)
    options = shown.as_options()
    name = digest(base.manifest_hash, *(f"{old} {new}" for old, new in sorted(ids.items())))[:12]
    uri = f"{window_folder(options.sink.work_area, window.feed, window.id)}/manifest-{name}.parquet"
    summary = write_manifest(
        env.stores,
        uri,
        _renewed(env.blocks(base), found, ids, blocks),
        identity=manifest_identity(env, window.id, window.feed),
    )
    now = replace(base, manifest_uri=uri, manifest_hash=summary.hash)
    carry_states(env, base, now, options, blocks)
    decided = () if shown.state == "published" else [version.path for version in found.values()]
    holders = frozenset(block.group for of_file in blocks.values() for block in of_file)
    agrees = carry_schema(env, base, now, options, decided)
    return NewerPlan(
        base=shown.number,
        manifest_uri=uri,
        manifest_hash=summary.hash,
        groups=summary.groups,
        files=ids,
        holders=holders if agrees else None,
    )


def is_outdated(env: Environment, begun: Generation, newer: Sequence[NewerVersion]) -> bool:
    """Return whether a generation that has begun reads versions that the store no longer has."""
    read = replaced_by(env.ledger, begun.window, begun.number).items()
    now = {version.file: version_digest(version.found) for version in newer}
    return now != {file: version_digest(version) for file, version in read}


def _renewed(
    planned: Iterator[Block],
    found: Mapping[int, FileVersion],
    ids: Mapping[int, int],
    blocks: Mapping[int, Sequence[Block]],
) -> Iterator[Block]:
    """Yield the plan's blocks, with those of older versions replaced by equal ranges of the newer ones.

    All blocks keep their numbers and groups, so that results of groups that are not read again stay valid. A file that
    has grown is cut into larger blocks, and its group may hold more than `group_bytes`.
    """
    seen: Counter[int] = Counter()
    for block in planned:
        version = found.get(block.file)
        if version is None:
            yield block
            continue
        place, count = seen[block.file], len(blocks[block.file])
        seen[block.file] += 1
        yield block._replace(
            file=ids[block.file],
            version=version,
            start=version.size * place // count,
            end=version.size * (place + 1) // count,
            part_end=version.size,
        )


def without_plan(
    env: Environment, window: Window, shown: Generation, newer: Sequence[NewerVersion]
) -> list[NewerVersion]:
    """Return the versions for which `plan_newer` cannot make a plan."""
    blocks = Counter(block.file for block in env.blocks(window, shown))
    return [version for version in newer if version.in_part or version.found.size < blocks[version.file]]


def _refuse_parts(env: Environment, window: Window, newer: Sequence[NewerVersion]) -> None:
    for version in newer:
        if version.in_part:
            commands = ", ".join(giving_up_parts(env.ledger, version.file))
            msg = (
                f"window {window.id} {window.key!r}: {version.found.path} has a newer version, but the window reads a"
                " part of it only, and parts of two versions make no file; give up the windows with parts of it, in"
                f" this order: {commands}, and the next run reads it as it is now"
            )
            raise OptionsError(msg)


def _refuse_small(
    env: Environment, window: Window, found: Mapping[int, FileVersion], blocks: Mapping[int, Sequence[Block]]
) -> None:
    for file, version in found.items():
        if version.size < len(blocks[file]):
            msg = (
                f"window {window.id} {window.key!r}: the newer version of {version.path} has {version.size:,} bytes,"
                f" too few for the {len(blocks[file]):,} blocks that it has in this window; give the window up"
                f" ({giving_up(env.ledger, window.id)}), and the next run reads its files as they are now"
            )
            raise OptionsError(msg)


def _describe(version: NewerVersion) -> str:
    found = version.found
    when = f", of {moment(found.mtime_ns):%Y-%m-%d %H:%M:%SZ}" if found.mtime_ns else ""
    return f"{found.path} ({format_bytes(found.size)}{when})"
