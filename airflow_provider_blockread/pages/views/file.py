"""One file version: its history, its blocks, and the bytes around an offset."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import Response

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.errors import BlockReadError
from airflow_provider_blockread.ledger.overview.feed_options import newest_sources
from airflow_provider_blockread.ledger.overview.files import FileLife, file_life, file_versions
from airflow_provider_blockread.ledger.overview.window import quarantine_files
from airflow_provider_blockread.ledger.overview.windows import WindowRow, viewed_groups
from airflow_provider_blockread.options import Bounds, FileSource, GenerationOptions
from airflow_provider_blockread.options.parsing.sizes import plural
from airflow_provider_blockread.options.values import from_json
from airflow_provider_blockread.pages.display.dumps import dump, passage
from airflow_provider_blockread.pages.display.failures import failure_of
from airflow_provider_blockread.pages.display.strips import Segment, Strip, strip, worst
from airflow_provider_blockread.pages.display.troubles import Trouble, block_of
from airflow_provider_blockread.pages.display.words import whole
from airflow_provider_blockread.pages.views.evidence import FileBlock, QuarantinedRecord, bad_records, file_blocks
from airflow_provider_blockread.pages.visit import Visit
from airflow_provider_blockread.records.format import codec_of
from airflow_provider_blockread.records.reading import open_bytes
from airflow_provider_blockread.storage.listing.roots import bounds_of
from airflow_provider_blockread.storage.versions import open_version

_DRAWN = 400  # segments of the strip
_LISTED = 200  # rows of the list of blocks
_BEFORE, _SHOWN = 512, 4096  # bytes around an offset
_MOST_DECODED = 64 * 2**20  # bytes of a compressed file, about


def show(visit: Visit) -> Response:
    """Return the page."""
    env, life = visit.env, _life(visit)
    row = life.windows[-1] if life.windows else None
    trouble, wrong = _trouble(visit, life, row)
    blocks, note, bad, bad_note = _evidence(visit, life, row)
    blocks = [_as_it_failed(one, wrong) for one in blocks]
    asked = whole(visit.asked("block")) or 0
    first = next((index for index, one in enumerate(blocks) if one.number >= asked), 0)
    listed = blocks[first : first + _LISTED]
    values = {
        "life": life,
        "now": env.ledger.now(),
        "row": row,
        "trouble": trouble,
        "versions": file_versions(env.ledger, life.id, life.path, of=visit.seen(visit.ledger)),
        "blocks": listed,
        "block_count": len(blocks),
        "earlier": blocks[max(first - _LISTED, 0)].number if first else None,
        "later": blocks[first + _LISTED].number if len(blocks) > first + _LISTED else None,
        "drawn": _strip(visit, life, blocks, bad, listed) if blocks else None,
        "note": note,
        "record_format": _record_format(life),
        "bad": bad,
        "bad_note": bad_note,
    }
    return visit.page("file.html", values)


def records(visit: Visit) -> Response:
    """Return the bytes around an offset, which counts decoded bytes where the file is compressed."""
    env, life = visit.env, _life(visit)
    options, error = _options(life)
    codec = None if options is None else codec_of(options.record_format, life.path)
    most = life.size if codec is None else _MOST_DECODED
    at = max(whole(visit.asked("at")) or 0, 0)
    at = at if codec else min(at, most)
    length = whole(visit.asked("length")) or 0
    start, data, size = max(at - _BEFORE, 0), b"", life.size
    if at > most:
        error = f"A page decodes only the first {most:,} bytes of a compressed file."
    try:
        data, size = (data, size) if error else _bytes(visit, life, options, start)
    except BlockReadError as failure:
        error = str(failure)
    end = start + len(data)
    at = min(at, end) if data else at
    mark = (at, at + max(length, 1))
    text = passage(data, start, mark=mark, encoding=_record_format(life).get("encoding") or "utf-8")
    values = {"life": life, "at": at, "lines": dump(data, start, mark=mark), "error": error, "start": start}
    values |= {"text": text, "is_record": length > 0, "most": most, "end": end}
    later = end + _BEFORE if end < size and (codec is None or end + _BEFORE <= most) else None
    values |= {"later": later, "step": _SHOWN, "now": env.ledger.now(), "before": _BEFORE}
    return visit.page("records.html", values)


def _life(visit: Visit) -> FileLife:
    life = file_life(visit.env.ledger, int(visit.request.path_params["file"]))
    if life is None:
        raise HTTPException(404)
    return life


def _trouble(visit: Visit, life: FileLife, row: WindowRow | None) -> tuple[Trouble | None, int | None]:
    """Return why the newest window, or a group of it, failed on this file, and the number of the block at fault."""
    if row is None or row.error is None:
        return None, None
    ledger = visit.env.ledger
    for error in (row.error, *(one.error for one in viewed_groups(ledger, row))):
        if error is not None and life.path in error:
            failure = failure_of(ledger, row, error, visit.quoted(error))
            if any(one.id == life.id for one in failure.files):
                return failure.trouble, block_of(error)
    return None, None


def _as_it_failed(block: FileBlock, wrong: int | None) -> FileBlock:
    """Return a block of a failed group with its state: failed if the error names it, otherwise to be read again."""
    return replace(block, state="failed" if block.number == wrong else "waiting") if block.state == "failed" else block


def _record_format(life: FileLife) -> dict[str, Any]:
    """Return the options of the format with which the file was last read; empty before a window has taken it."""
    generation = life.windows[-1].generation if life.windows else None
    return dict(generation.options.get("record_format", {})) if generation else {}


def _options(life: FileLife) -> tuple[GenerationOptions | None, str]:
    """Return the options by which the file was read last, and why they are not known; none where no window took it."""
    generation = life.windows[-1].generation if life.windows else None
    try:
        return None if generation is None else generation.as_options(), ""
    except BlockReadError as error:
        return None, str(error)


def _bytes(visit: Visit, life: FileLife, options: GenerationOptions | None, start: int) -> tuple[bytes, int]:
    """Return bytes of the version and its size, decoded if it is compressed, without loading the record format.

    A user's own format is code, which must run only on workers and on Spark.

    Raises:
        BlockReadError: when the file is gone, is now another version, or is reached by a link out of its source.
    """
    version = FileVersion(life.path, life.size, life.mtime_ns, life.etag)
    with open_version(visit.env.stores, version, _bounds(visit, options)) as file:
        if options is None:
            file.seek(start)
            return file.read(_SHOWN), life.size
        source = open_bytes(file, codec_of(options.record_format, life.path), name=life.path, size=life.size)
        source.data_offset = 0  # bytes before those that are shown need not be kept
        return source.read(start, start + _SHOWN), source.size  # of a stream larger than any file before its end


def _bounds(visit: Visit, options: GenerationOptions | None) -> Bounds:
    """Return where links and redirects may lead: as planned for the file, or else as in its feed's last listing."""
    if options is not None:
        return options.bounds
    listed = newest_sources(visit.env.ledger, visit.feed.name) if visit.feed else ()
    source = next(map(from_json, listed), None)
    return bounds_of(source) if isinstance(source, FileSource) else Bounds(link_roots=())


def _evidence(
    visit: Visit, life: FileLife, row: WindowRow | None
) -> tuple[list[FileBlock], str, list[QuarantinedRecord], str]:
    """Return the file's blocks and bad records in its newest window, and why there are none if that failed."""
    if row is None:
        return [], "No window has taken this file yet, so it has no blocks.", [], ""
    generation = row.shown or row.generation
    if generation is None or row.window.pruned_at is not None:
        return [], "The window's detail is gone: it was pruned, or never opened.", [], ""
    blocks: list[FileBlock] = []
    note, sources = "", None
    try:
        blocks, sources = file_blocks(visit.env, row, generation, life.id)
    except BlockReadError as error:
        note = str(error)
    if not (visit.may_read_records and life.bad_records):
        return blocks, note, [], ""
    kept = quarantine_files(visit.env.ledger, row.window.id, generation.number, sources=sources)
    return blocks, note, *bad_records(visit.env, kept, path=life.path)


def _strip(
    visit: Visit, life: FileLife, blocks: list[FileBlock], bad: list[QuarantinedRecord], listed: list[FileBlock]
) -> Strip:
    """Return the blocks as a strip; each piece links to its line in the list, if necessary on another page of it."""
    shown = {one.number for one in listed}
    size = -(-len(blocks) // _DRAWN)
    pieces = [blocks[start : start + size] for start in range(0, len(blocks), size)]
    numbers = {one.block for one in bad}
    segments = []
    for piece in pieces:
        number = piece[0].number
        href = f"#block-{number}" if number in shown else visit.to.blocks(visit.ledger, life.id, number)
        segments.append(_segment(piece, numbers, href))
    return strip(segments, f"{plural(len(blocks), 'block')} of the file")


def _segment(piece: list[FileBlock], bad: set[int], href: str) -> Segment:
    first, last = piece[0], piece[-1]
    kind = worst(one.state for one in piece)  # determines the segment's colour
    name = f"block {first.number}" if len(piece) == 1 else f"blocks {first.number} to {last.number}"
    read = [one.receipt for one in piece if one.receipt is not None]
    label = f"{name}: {kind}, bytes {first.start:,} to {last.end:,}, group {first.group}"
    if read:
        records, wrong = sum(one.records for one in read), sum(one.bad_records for one in read)
        label += f", {plural(records, 'record')}, {wrong:,} bad, first record at byte {read[0].first_start:,}"
    tick = any(one.bad_records for one in read) or any(one.number in bad for one in piece)
    return Segment(kind=kind, label=label, weight=last.end - first.start, href=href, tick=tick)
