"""Paths from upstream, in the forms that tasks, templates and asset events deliver."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.options import EventFiles, FileList
from airflow_provider_blockread.options.parsing.sizes import plural
from airflow_provider_blockread.storage.listing.upstream import path_of

if TYPE_CHECKING:
    from airflow.sdk import Context

_COUNT = "files"  # beside `paths`: the number of files, if only some of the paths are named


def require_plan(operator: Any) -> None:  # noqa: ANN401 - one that reads or publishes a window
    """Refuse what is not the window of a plan, or not the number of a group.

    Raises:
        OptionsError: with what to pass on from the plan.
    """
    window, group = operator.window, getattr(operator, "group", 0)
    if not isinstance(window, Mapping) or "window" not in window:
        msg = (
            f"{operator.task_id}: window must be what one plan hands on as its XCom `window`, as in"
            f' window=plan.output["window"], not a value of type {type(window).__name__}'
        )
        raise OptionsError(msg)
    if not str(group).isdecimal():
        msg = (
            f"{operator.task_id}: group must be a number in the plan's list, not a value of type"
            f" {type(group).__name__}; map the task over the list: .expand(group=plan.output)"
        )
        raise OptionsError(msg)


def files_of(given: object, context: Context, log: Callable[[str], None]) -> Sequence[str] | FileList | None:
    """Return the paths to read, or the file that lists them, or None if the source must be listed.

    Paths are strings or objects with a `path`, in lists, lists of lists (from mapped tasks), or JSON text of these. An
    object with `paths` and a larger count `files`, as a sensor returns, has only some of the paths: then the source is
    listed.

    Raises:
        OptionsError: when `given` is anything else, or None.
    """
    if given is None:
        msg = (
            "upstream gave no list: `files` is None, as the output of a task that returns nothing; let that task return"
            " a list, an empty one for no files, or leave `files` out to list the source"
        )
        raise OptionsError(msg)
    if isinstance(given, FileList):
        return given
    if isinstance(given, EventFiles):
        return _of_events(given, context, log)
    if isinstance(given, str):
        with suppress(ValueError, RecursionError):
            given = json.loads(given)
    if isinstance(given, Mapping) and "paths" in given:
        return _of_found(given, given["paths"], log)
    return list(_paths(given))


def _paths(given: object) -> Iterator[str]:
    if isinstance(given, Sequence) and not isinstance(given, (str, bytes)):
        for item in given:
            path = path_of(item)
            if path is None:
                yield from _paths(item)
            else:
                yield path
        return
    msg = (
        "files must be a list of paths, or of objects with a `path`, or its JSON text (end templates in `| tojson`),"
        f" not {given!r:.200}; correct the upstream task, or give a FileList of a file that lists the paths"
    )
    raise OptionsError(msg)


def _of_found(found: Mapping[str, Any], named: object, log: Callable[[str], None]) -> list[str] | None:
    paths, count = list(_paths(named)), found.get(_COUNT)
    if isinstance(count, int) and count > len(paths):
        log(f"upstream names {len(paths):,} of {plural(count, 'file')}: the source is listed")
        return None
    return paths


def _of_events(wanted: EventFiles, context: Context, log: Callable[[str], None]) -> list[str] | None:
    started_by = context["triggering_asset_events"]
    events = [(asset, event) for asset, of_asset in started_by.items() for event in of_asset]
    if not events:
        log("no asset event started this run: the source is listed")
        return None
    counted = [(asset, event) for asset, event in events if _counts(asset, wanted)]
    if not counted:
        others = ", ".join(sorted({repr(asset.name) for asset, _ in events}))
        log(f"the events that started this run are of {others}, not of {wanted.asset!r}: they name no file")
    paths: list[str] = []
    for asset, event in counted:
        extra = event.extra or {}
        parts = (part for part in (extra, extra.get("payload")) if isinstance(part, Mapping))
        named = next((part for part in parts if wanted.key in part), None)
        if named is None:
            msg = (
                f"an event of asset {asset.name!r} names no paths: its extra has {', '.join(extra) or 'nothing'}, not"
                f" {wanted.key!r}; correct EventFiles(key=...), or the task that creates the event"
            )
            raise OptionsError(msg)
        found = _of_found(named, named[wanted.key], log)
        if found is None:
            return None
        paths += found
    return paths


def _counts(asset: Any, wanted: EventFiles) -> bool:  # noqa: ANN401 - an asset as events name it
    return wanted.asset in {None, asset.name, getattr(asset, "uri", None)}
