"""One window in detail: its generations, groups, files and outputs."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from sqlalchemy import ColumnElement, Select, and_, case, exists, func, or_, select, true, union, union_all

from airflow_provider_blockread.blocks.ids import path_digest
from airflow_provider_blockread.blocks.model import NAMED_BLOCK
from airflow_provider_blockread.errors import printable
from airflow_provider_blockread.ledger.schema.columns import SHOWN_STATES
from airflow_provider_blockread.ledger.schema.file_tables import parts
from airflow_provider_blockread.ledger.schema.journal_tables import outputs
from airflow_provider_blockread.ledger.schema.rows import in_generation
from airflow_provider_blockread.ledger.schema.tables import exclusions, file_sums, files, generations
from airflow_provider_blockread.ledger.schema.upkeep_tables import replacements, request_generations, requests
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.windows.exclusions import EXCLUSIONS, Exclusion
from airflow_provider_blockread.ledger.windows.groups import left_out_by

_SHOWN = 100  # rows of each list on a page
#: States of files that are worse than done, the worst first.
_WORST = ("changed", "missing", "quarantined", "excluded", "ignored", "replaced", "pending", "planned")
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*://")
_PATH_ENDS = re.compile(r"(?=[\s:;,)'\"]|$)")  # what follows a path in a sentence; a path may hold it, too
_MOST_PATHS = 5_000  # in one text


class WindowFile(NamedTuple):
    """A file of a window; `start` and `end` bound the part of it that the window reads."""

    id: int
    path: str
    size: int
    state: str
    records: int | None
    bad_records: int | None
    start: int | None
    end: int | None


class NamedFile(NamedTuple):
    """A file of a window whose path occurs in a text."""

    id: int
    path: str
    left_out: bool


class FilePiece(NamedTuple):
    """Some consecutive files of a window, which a strip chart draws as one piece."""

    first: int  # number of the first one
    last: int
    path: str  # of the first one
    files: int
    bytes: int  # that the window reads
    bad_records: int
    state: str  # the worst state of these files


class Output(NamedTuple):
    """A file that a generation publishes."""

    kind: str  # output | quarantine
    uri: str
    size: int
    rows: int
    partition: dict[str, str | None]  # values of the columns that the output is partitioned by


class OutputSums(NamedTuple):
    """The sums of what a generation publishes."""

    files: int = 0
    rows: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowDetail:
    """What is in a window besides its generations and groups. Lists are truncated after the first hundred."""

    outputs: tuple[Output, ...]  # of the requested generation; empty once they are replaced or removed
    published: OutputSums
    quarantined: OutputSums
    excluded: tuple[Exclusion, ...]
    left_out: int  # files that the requested generation leaves out, or did when it was proven
    replaced: dict[int, int]  # generation -> files of which it reads a newer version
    asked_by: dict[int, str]  # generation -> who requested it with a command over many windows


def window_detail(ledger: Ledger, window: str, generation: int) -> WindowDetail:
    """Return what a generation of a window publishes, and what it and the window leave out."""
    mine = (in_generation(outputs, window, generation), _is_shown(window, generation))
    listed = select(*(outputs.c[name] for name in Output._fields)).where(*mine)
    sums = select(outputs.c.kind, func.count(), func.sum(outputs.c.rows), func.sum(outputs.c.size)).where(*mine)
    left = EXCLUSIONS.where(exclusions.c.window_id == window).order_by(exclusions.c.excluded_at, exclusions.c.file_id)
    number = generations.c.number
    held = or_(exclusions.c.generation.is_(None), exclusions.c.generation == number)
    is_open = or_(generations.c.state.in_(("reading", "failed")), generations.c.proven_at.is_(None))
    count = select(func.count()).join_from(exclusions, generations, exclusions.c.window_id == generations.c.window_id)
    count = count.where(generations.c.window_id == window, number == generation, held)
    count = count.where(or_(is_open, exclusions.c.excluded_at <= generations.c.proven_at))
    newer = select(replacements.c.generation, func.count()).where(replacements.c.window_id == window)
    asked = select(request_generations.c.generation, requests.c.who).join(requests)
    asked = asked.where(request_generations.c.window_id == window)
    with ledger.reading() as connection:
        by_kind = {row[0]: OutputSums(*map(int, row[1:])) for row in connection.execute(sums.group_by(outputs.c.kind))}
        return WindowDetail(
            outputs=tuple(Output(*row) for row in connection.execute(listed.order_by(outputs.c.seq).limit(_SHOWN))),
            published=by_kind.get("output", OutputSums()),
            quarantined=by_kind.get("quarantine", OutputSums()),
            excluded=tuple(Exclusion(*row) for row in connection.execute(left.limit(_SHOWN))),
            left_out=int(connection.scalar(count) or 0),
            replaced={row[0]: row[1] for row in connection.execute(newer.group_by(replacements.c.generation))},
            asked_by={row[0]: row[1] for row in connection.execute(asked)},
        )


def quarantine_files(
    ledger: Ledger, window: str, generation: int, *, sources: Collection[str] | None = None, limit: int = 1000
) -> list[Output]:
    """Return the first files in which readers find a generation's bad records; only those written to `sources`."""
    query = select(*(outputs.c[name] for name in Output._fields)).order_by(outputs.c.seq).limit(limit)
    query = query.where(in_generation(outputs, window, generation), _is_shown(window, generation))
    query = query.where(outputs.c.kind == "quarantine")
    if sources is not None:
        query = query.where(outputs.c.source.in_(sources))
    with ledger.reading() as connection:
        return [Output(*row) for row in connection.execute(query)]


def _is_shown(window: str, generation: int) -> ColumnElement[bool]:
    """Return whether readers see a generation, whose numbers the rows of files and parts then have."""
    mine = exists().where(generations.c.window_id == window, generations.c.number == generation)
    return mine.where(generations.c.state.in_(SHOWN_STATES))


def window_files(
    ledger: Ledger, window: str, generation: int, *, bad: bool = False, after: int = 0, limit: int = 50
) -> list[WindowFile]:
    """Return files of a window ordered by number, those above `after`, with what a generation has read of them.

    That is unknown of a generation that is not proven, or was replaced. Files of which the window reads a part are
    listed with that part. With `bad`, only files with bad records count.
    """
    held = and_(parts.c.window_id == window, parts.c.file_id == files.c.id)
    sums = in_generation(file_sums, window, generation)
    is_shown = _is_shown(window, generation)
    settled = (func.coalesce(parts.c[name], files.c[name]) for name in ("records", "bad_records"))
    records, bad_records = (
        func.coalesce(counted, case((is_shown, kept)))
        for counted, kept in zip((file_sums.c.records, file_sums.c.bad_records), settled, strict=True)
    )
    columns = (files.c.id, files.c.path, files.c.size, files.c.state, records, bad_records)
    joined = files.outerjoin(parts, held).outerjoin(file_sums, and_(sums, file_sums.c.file_id == files.c.id))
    # Separate queries, so that each uses its index.
    whole = select(files.c.id).where(files.c.window_id == window)
    counted = select(file_sums.c.file_id).where(sums, file_sums.c.bad_records > 0)
    of_parts = select(parts.c.file_id).where(parts.c.window_id == window)
    if bad:
        whole = whole.where(files.c.bad_records > 0, is_shown)
        of_parts = of_parts.where(parts.c.bad_records > 0, is_shown)
    ids = union(*(_first(one, after, limit) for one in (whole, of_parts, *([counted] if bad else ()))))
    query = select(*columns, parts.c.part_start, parts.c.part_end).select_from(joined).where(files.c.id.in_(ids))
    if bad:
        query = query.where(bad_records > 0)
    with ledger.reading() as connection:
        return [WindowFile(*row) for row in connection.execute(query.order_by(files.c.id).limit(limit))]


def _first(numbers: Select[int], after: int, limit: int) -> Select[int]:
    """Return the query of the first numbers above `after`; PostgreSQL would sort those of a union of all."""
    [number] = numbers.selected_columns
    return select(numbers.where(number > after).order_by(number).limit(limit).subquery())


def named_files(ledger: Ledger, window: str, text: str, *, generation: int | None = None) -> list[NamedFile]:
    """Return the files of a window that an error names; a generation may leave some out.

    Lines of a log that follow the error name no files, nor does what the error quotes of a record behind its block.
    """
    text = NAMED_BLOCK.split(text.partition("\n")[0], 1)[0]
    digests = {path_digest(path) for path in islice(_possible_paths(text), _MOST_PATHS)}
    held, named = _held(window), files.c.path_digest.in_(digests)
    with ledger.reading() as connection:
        found = connection.execute(union(*(some.where(named) for some in held)).order_by("id")).all() if digests else []
        said = _said(text, (row.path for row in found))
        rows = [row for row in found if row.path in said]
        mine = exclusions.c.file_id.in_([row.id for row in rows])
        left = set(connection.scalars(left_out_by(window, generation).where(mine)))
        return [NamedFile(row.id, row.path, row.id in left) for row in rows]


def _possible_paths(text: str) -> Iterator[str]:
    """Yield what may be a path in a text: from each scheme on, to each place where a path may end."""
    for scheme in _SCHEME.finditer(text):
        yield from (text[scheme.start() : end.start()] for end in _PATH_ENDS.finditer(text, scheme.end()))


def _held(window: str) -> tuple[Select[int, str], ...]:
    """Return queries for the files that a window holds, whole or in parts.

    They are not joined by OR, for which PostgreSQL would read all files of the ledger.
    """
    columns, of_parts = select(files.c.id, files.c.path), select(parts.c.file_id).where(parts.c.window_id == window)
    return columns.where(files.c.window_id == window), columns.where(files.c.id.in_(of_parts))


def _said(text: str, paths: Iterable[str]) -> set[str]:
    """Return the paths that occur in a text, other than as the beginning of a longer one, as `a` of `a.1`."""
    found = set()
    for path in sorted(set(paths), key=len, reverse=True):
        if path in text:
            found.add(path)
            text = text.replace(path, "\0")
    return found


def files_called(ledger: Ledger, window: str, name: str) -> list[str]:
    """Return the paths of a window's files that a person may mean: the one of this name, or all that end in it.

    A name may be as pages show it, where characters that do not print are escaped.
    """
    mine = [some.where(files.c.state != "replaced") for some in _held(window)]
    named = files.c.path_digest.in_([path_digest(name), path_digest(f"file://{name}")])  # a local path has no scheme
    end = f"/{name}"

    def paths(wanted: ColumnElement[bool]) -> list[str]:
        query = union(*(some.where(wanted) for some in mine)).order_by("id")
        return [row.path for row in connection.execute(query)]

    with ledger.reading() as connection:
        found = paths(named)
        if not found:
            ending = paths(files.c.path.endswith(end, autoescape=True))
            found = [path for path in ending if path.endswith(end)]  # SQLite finds other cases, too
        if not found and "\\" in name:
            found = [path for path in paths(true()) if f"/{printable(path)}".endswith(end)]
    return list(dict.fromkeys(found))


def file_pieces(ledger: Ledger, window: str, generation: int, *, pieces: int) -> list[FilePiece]:
    """Return the files of a window ordered by number, in at most `pieces` pieces with about equally many files.

    Bad records are those of the generation, if readers see it.
    """
    whole = select(files.c.id, files.c.size, files.c.bad_records, files.c.state).where(files.c.window_id == window)
    size = parts.c.part_end - parts.c.part_start
    some = select(files.c.id, size, parts.c.bad_records, files.c.state).join(parts, parts.c.file_id == files.c.id)
    all_ = union_all(whole, some.where(parts.c.window_id == window)).subquery()
    rank = case({state: place for place, state in enumerate(_WORST)}, value=all_.c.state, else_=len(_WORST))
    number = func.ntile(pieces).over(order_by=all_.c.id).label("number")
    ranked = select(all_.c.id, all_.c.size, all_.c.bad_records, rank.label("rank"), number).subquery()
    bad = case((_is_shown(window, generation), func.coalesce(ranked.c.bad_records, 0)), else_=0)
    columns = (func.count(), func.sum(ranked.c.size), func.sum(bad), func.min(ranked.c.rank))
    query = select(func.min(ranked.c.id), func.max(ranked.c.id), *columns).group_by(ranked.c.number)
    with ledger.reading() as connection:
        rows = connection.execute(query.order_by(ranked.c.number)).all()
        named = select(files.c.id, files.c.path).where(files.c.id.in_([row[0] for row in rows]))
        paths = {row.id: row.path for row in connection.execute(named)}
    words = (*_WORST, "done")
    return [FilePiece(row[0], row[1], paths[row[0]], row[2], int(row[3]), int(row[4]), words[row[5]]) for row in rows]
