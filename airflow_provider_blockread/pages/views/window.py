"""One window: its stages, what its groups do, and its proof."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from airflow_provider_blockread.errors import BlockReadError, printable
from airflow_provider_blockread.ledger.overview.window import (
    NamedFile,
    file_pieces,
    named_files,
    quarantine_files,
    window_detail,
    window_files,
)
from airflow_provider_blockread.ledger.overview.windows import WindowRow, viewed_groups, viewing, window_row
from airflow_provider_blockread.ledger.upkeep.withdrawing import find_withdrawal
from airflow_provider_blockread.ledger.windows.generations import list_generations
from airflow_provider_blockread.options.parsing.sizes import format_bytes, plural
from airflow_provider_blockread.pages.display.commands import clear_command, run_of
from airflow_provider_blockread.pages.display.failures import failure_of
from airflow_provider_blockread.pages.display.next_actions import READ_AGAIN, NextAction, next_actions, without_run
from airflow_provider_blockread.pages.display.paces import Pace, groups_strip, pace_of, window_left_s
from airflow_provider_blockread.pages.display.proofs import MOVING, is_being_scanned, proof_of, stages_of
from airflow_provider_blockread.pages.display.strips import Segment, Strip, strip, worst
from airflow_provider_blockread.pages.display.troubles import Trouble
from airflow_provider_blockread.pages.display.words import whole
from airflow_provider_blockread.pages.views.evidence import bad_records, file_states
from airflow_provider_blockread.pages.visit import Visit
from airflow_provider_blockread.steps.plan.restoring import without_plan
from airflow_provider_blockread.steps.upkeep.withdrawing import can_go_back

_PAGE = 50  # files of a list
_GROUPS = 100  # listed groups; those that are not done come first
_DRAWN = 200  # segments of the strip of files
_MOST_DRAWN = 20_000  # files that a strip shows
_BAD = 100  # listed bad records
_ERRORS = 20  # of groups whose files are shown as failed
_UNREAD = {"reading", "failed"}


def show(visit: Visit) -> Response:
    """Return the page."""
    ledger, row = visit.env.ledger, _row(visit)
    generations = list_generations(ledger, row.window.id)
    asked = next((one for one in generations if one.number == whole(visit.asked("generation"))), None)
    chosen = asked or row.shown or row.generation
    number = chosen.number if chosen else 0
    viewed, detail = row, window_detail(ledger, row.window.id, number)
    published = detail
    if asked is not None and row.current is not None and asked.number != row.current.number:
        viewed, published = viewing(ledger, row, asked), window_detail(ledger, row.window.id, row.current.number)
    after, only_bad = whole(visit.asked("file")) or 0, bool(visit.asked("bad"))
    files = window_files(ledger, row.window.id, number, bad=only_bad, after=after, limit=_PAGE + 1)
    kept = quarantine_files(ledger, row.window.id, number) if visit.may_read_records else []
    bad, bad_note = bad_records(visit.env, kept, limit=_BAD)
    failure = failure_of(ledger, row, row.error, visit.quoted(row.error))
    failed, trouble = failure.files, failure.trouble
    state_of = _state_of_files(visit, viewed, {one.id for one in (*failed, *_others(visit, row)) if not one.left_out})
    withdrawal = find_withdrawal(ledger, row.window.id)
    goes_back = row.state in {"published", "abandoned"} and can_go_back(visit.env, row.window)
    values = {
        "row": viewed,
        "generations": generations[::-1],
        "chosen": chosen,
        "detail": detail,
        "proof": proof_of(row.window, chosen, detail) if chosen else [],
        "files": files[:_PAGE],
        "file_state": state_of,
        "asked": asked.number if asked else None,
        "tape": _tape(visit, viewed, number, state_of),
        "only_bad": only_bad,
        "more": files[_PAGE - 1].id if len(files) > _PAGE else None,
        "bad": bad,
        "bad_note": bad_note,
        "bad_files": _numbers(visit, row, number) if bad else {},
        "trouble": trouble,
        "failed_at": _failed_at(visit, trouble, failed),
        "advice": _advice(visit, row, next_actions(row, published, failed, withdrawal, goes_back=goes_back)),
        "refused": () if _has_plan(visit, row) else READ_AGAIN,
        "withdrawal": withdrawal,
    }
    withdrawn_at = withdrawal.finished_at if withdrawal else None
    return visit.page("window.html", values | _moving(visit, viewed, withdrawn_at))


def live(visit: Visit) -> Response:
    """Return the window's progress as JSON, which a page requests again while it is `moving`."""
    row = _row(visit)
    values = _moving(visit, row)
    counts = row.groups
    return JSONResponse(
        {
            "window": row.window.id,
            "state": values["state"],
            "moving": values["moving"],
            "groups": row.window.groups,
            "groups_done": counts.done,
            "blocks": row.window.blocks,
            "blocks_done": counts.blocks_done,
            "bytes": row.window.bytes,
            "bytes_done": counts.read_bytes,
            "records_done": counts.records,
            "html": visit.fragment("window_live.html", {"row": row} | values),
        }
    )


def _others(visit: Visit, row: WindowRow) -> list[NamedFile]:
    """Return the files that errors of other groups than the one whose error the window has name."""
    if row.error is None or row.generation is None:
        return []
    ledger, number = visit.env.ledger, row.generation.number
    errors = sorted({one.error for one in viewed_groups(ledger, row) if one.error is not None} - {row.error})
    return [file for error in errors[:_ERRORS] for file in named_files(ledger, row.window.id, error, generation=number)]


def _failed_at(visit: Visit, trouble: Trouble | None, failed: Sequence[NamedFile]) -> str | None:
    """Return the address of the bytes around the record on which the window failed, or None if there is no record."""
    if trouble is None or not trouble.excerpt or len(failed) != 1:
        return None
    at, length = trouble.excerpt[0].offset, sum(len(part) for line in trouble.excerpt for part in line.text)
    return visit.to.records(visit.ledger, failed[0].id, at, length)


def _numbers(visit: Visit, row: WindowRow, generation: int) -> dict[str, int]:
    """Return the numbers of files with bad records, by path, for as many files as bad records are listed."""
    found = window_files(visit.env.ledger, row.window.id, generation, bad=True, limit=_BAD)
    return {one.path: one.id for one in found}


def _row(visit: Visit) -> WindowRow:
    row = window_row(visit.env.ledger, str(visit.request.path_params["window"]))
    if row is None:
        raise HTTPException(404)
    return row


def _advice(visit: Visit, row: WindowRow, actions: list[NextAction]) -> list[NextAction]:
    """Return what can be done next, with a note if that needs a run that is no longer there."""
    run = run_of(row)
    dag, _, run_id = (run or "").partition("/")
    is_there = run is None or visit.site.schedules.has_run(dag, run_id)
    return actions if is_there else without_run(actions, clear_command(str(run)))


def _has_plan(visit: Visit, row: WindowRow) -> bool:
    """Return whether the window can be read again, as far as its work area says."""
    try:
        return not without_plan(visit.env, row.window, row.shown)
    except BlockReadError:
        return False


def _moving(visit: Visit, row: WindowRow, withdrawn_at: datetime | None = None) -> dict[str, Any]:
    """Return the values that change while a window is being read."""
    ledger, generation = visit.env.ledger, row.viewed
    now = ledger.now()
    paces = [pace_of(one, now) for one in viewed_groups(ledger, row)]
    first = {"failed": 0, "stalled": 0, "reading": 1, "waiting": 2}
    listed = sorted(paces, key=lambda one: (first.get(one.state, 3), one.group.ref.group))[:_GROUPS]
    name = f"Groups of generation {generation.number if generation else 1}; widths show bytes"
    return {
        "now": now,
        "moving": row.is_current and row.state in MOVING,
        "state": "scanning" if is_being_scanned(row) else row.state,
        "left_s": window_left_s(row),
        "stages": stages_of(row, withdrawn_at),
        "groups": listed,
        "group_count": len(paces),
        "failed_groups": sum(one.state == "failed" for one in paces),
        "drawn": groups_strip(paces, name, {one.group.ref.group for one in listed}) if paces else None,
        "skew": _skew(paces),
    }


def _tape(visit: Visit, row: WindowRow, generation: int, state_of: Callable[[int, int, str], str]) -> Strip | None:
    """Return the window's files as a strip with widths by bytes, or None if there is nothing to compare."""
    window, ledger = row.window, str(visit.ledger)
    if not 1 < window.files <= _MOST_DRAWN:
        return None
    segments, asked = [], whole(visit.asked("generation"))
    for piece in file_pieces(visit.env.ledger, window.id, generation, pieces=_DRAWN):
        one = piece.files == 1
        bad = f", {plural(piece.bad_records, 'bad record')}" if piece.bad_records else ""
        name = printable(piece.path) if one else f"{plural(piece.files, 'file')} from {printable(piece.path)} on"
        state = state_of(piece.first, piece.last, piece.state)
        segments.append(
            Segment(
                kind=state,
                label=f"{name}: {state}, {format_bytes(piece.bytes)}{bad}",
                weight=piece.bytes,
                href=visit.to.file(ledger, piece.first)
                if one
                else visit.to.files(ledger, window.id, generation=asked, file=piece.first - 1),
                tick=piece.bad_records > 0,
            )
        )
    return strip(segments, f"{window.files:,} files; widths show bytes") if segments else None


def _state_of_files(visit: Visit, row: WindowRow, failed: Collection[int]) -> Callable[[int, int, str], str]:
    """Return a function for the state of files, from their first and last number and their state in the ledger.

    Files that the window's error names have failed, unless they are left out by now. Those that readers see are
    published; while the window is not proven, others have their groups' state.
    """
    read: dict[int, str] = {}
    if row.viewed is not None and row.viewed.state in _UNREAD and row.window.blocks <= _MOST_DRAWN:
        read = file_states(visit.env, row, row.viewed)
    ids = sorted(read)

    def state(first: int, last: int, stored: str) -> str:
        if any(first <= file <= last for file in failed):
            return "failed"
        if stored == "done":
            return "published"
        mine = [read[file] for file in ids[bisect_left(ids, first) : bisect_right(ids, last)]]
        # A failed group has not completely read any of its files.
        of_groups = worst("waiting" if word == "failed" else word for word in mine) if mine else "waiting"
        return stored if stored != "planned" or of_groups == "waiting" else of_groups

    return state


def _skew(paces: list[Pace]) -> float | None:
    """Return how many times longer the slowest group took than the median one, or None for fewer than three groups."""
    took = sorted(one.seconds for one in paces if one.state == "done" and one.seconds)
    few = 3
    return took[-1] / took[len(took) // 2] if len(took) >= few else None
