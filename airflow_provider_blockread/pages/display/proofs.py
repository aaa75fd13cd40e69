"""A generation's proof and a window's stages, in words with numbers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from airflow_provider_blockread.ledger.model import Generation, Window
from airflow_provider_blockread.ledger.overview.window import WindowDetail
from airflow_provider_blockread.ledger.overview.windows import WindowRow
from airflow_provider_blockread.options.parsing.sizes import format_bytes, plural

_AT_WORK = {"planning", "reading", "proving", "publishing"}
#: States that change without anybody's help.
MOVING = frozenset({"waiting", *_AT_WORK})
_PROVEN = {"proven", "publishing", "published", "verified", "superseded"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A stage of a window; `kind` is past, now, wrong or to come."""

    title: str
    at: datetime | None
    kind: str
    detail: str = ""


def is_being_scanned(row: WindowRow) -> bool:
    """Return whether a scan was begun and has not ended; for scans the ledger keeps no heartbeat."""
    return row.state == "waiting" and row.window.scan_epoch > 0 and row.window.scanned_at is None


def stages_of(row: WindowRow, withdrawn_at: datetime | None = None) -> list[Stage]:
    """Return the stages of the viewed generation of a window; `withdrawn_at` is when the window was withdrawn.

    If a separate scan has begun, there is a stage `scanned`. What is over has only the stages that it has passed.
    """
    window, groups, generation = row.window, row.groups, row.viewed
    proven_at, published_at = (generation.proven_at, generation.published_at) if generation else (None, None)
    is_read = proven_at is not None or (window.groups > 0 and groups.done >= window.groups)
    is_planned = generation is not None or row.state not in {"planning", "failed", "stalled"}
    is_verified = generation is not None and generation.state == "verified"
    is_over = row.window.state == "abandoned" or (generation is not None and generation.state == "superseded")
    found: list[tuple[str, bool, datetime | None, str]] = [("planned", is_planned, window.created_at, "")]
    if window.scan_epoch:
        found.append(("scanned", is_read or window.scanned_at is not None, window.scanned_at, ""))
    done = f"{groups.done:,} of {plural(window.groups, 'group')}" if window.groups else ""
    last = "verified" if generation is not None and generation.mode == "verify" else "published"
    found += [
        ("read", is_read, groups.ended_at if is_read else groups.began_at, done),
        ("proven", proven_at is not None, proven_at, ""),
        (last, is_verified or published_at is not None, proven_at if is_verified else published_at, ""),
    ]
    first_open = next((title for title, is_past, *_ in found if not is_past), "")
    moves = row.is_current and (row.state in _AT_WORK or is_being_scanned(row))
    is_wrong = row.is_current and row.state in {"failed", "stalled"}
    at_it = "wrong" if is_wrong else "now" if moves else "to come"
    stages = [
        Stage(
            title=title, at=at, kind="past" if is_past else at_it if title == first_open else "to come", detail=detail
        )
        for title, is_past, at, detail in found
        if is_past or not is_over
    ]
    withdrawn = [Stage(title="withdrawn", at=withdrawn_at, kind="wrong")] if window.state == "abandoned" else []
    return stages + withdrawn


def proof_of(window: Window, generation: Generation, detail: WindowDetail) -> list[str]:
    """Return what the proof of a generation found, as sentences; empty while it is not proven."""
    if generation.state not in _PROVEN or generation.proven_at is None:
        return []
    sums, out = generation.sums, detail.published
    without = f", without {plural(detail.left_out, 'file')} left out" if detail.left_out else ""
    borders = max(window.blocks - window.files, 0)
    blocks, at = f" in {plural(window.blocks, 'block')}", plural(borders, "border")
    if detail.left_out:  # how many blocks these files had is written in the plan alone
        blocks, at = "", "each border"
    read = f"{sums.bytes:,} bytes{blocks} of {plural(window.files - detail.left_out, 'file')}"
    said = [f"Every byte is accounted for: {read}{without}."]
    if borders:
        said.append(f"Neighbouring blocks agree at {at}: no record is lost or read twice there.")
    bad = f", {sums.bad_records:,} of them bad" if sums.bad_records else ", none of them bad"
    skipped = f"; {plural(sums.skipped_records, 'blank line or header', 'blank lines and headers')} skipped"
    said.append(f"{plural(sums.records, 'record')} read{bad}{skipped if sums.skipped_records else ''}.")
    if generation.mode == "write" and generation.state == "superseded":  # its output is replaced or removed
        said.append(f"{plural(sums.rows, 'row')} written.")
    elif generation.mode == "write":
        count, own = ("counts", "its own footer") if out.files == 1 else ("count", "their own footers")
        said.append(
            f"{plural(sums.rows, 'row')} written; {plural(out.files, 'output file')} of {format_bytes(out.bytes)}"
            f" {count} {plural(out.rows, 'row')} in {own}."
        )
    if detail.quarantined.files:
        bad_kept = detail.quarantined.rows
        its = "its" if bad_kept == 1 else "their"
        said.append(f"{plural(bad_kept, 'bad record')} kept with {its} bytes in the quarantine.")
    if sums.digest:
        said.append(f"The sum of all record hashes is {sums.digest}.")
    return said
