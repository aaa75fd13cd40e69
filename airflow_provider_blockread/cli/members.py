"""`blockread members`: lists the files in merged files, and extracts them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import click

from airflow_provider_blockread.cli.options.shared import json_option
from airflow_provider_blockread.cli.terminal.printing import print_json, print_table
from airflow_provider_blockread.errors import SourceError
from airflow_provider_blockread.options import Members
from airflow_provider_blockread.options.parsing.sizes import plural
from airflow_provider_blockread.records.format import PARQUET, codec_of
from airflow_provider_blockread.records.io.seek_table import FrameSource
from airflow_provider_blockread.records.io.source import ByteSource
from airflow_provider_blockread.records.members.format import MembersFormat
from airflow_provider_blockread.records.members.index import Index
from airflow_provider_blockread.records.members.rows import RowSource
from airflow_provider_blockread.sinks.archive import read_index
from airflow_provider_blockread.sinks.names import FILE_PREFIX
from airflow_provider_blockread.storage import uris
from airflow_provider_blockread.storage.stores import Stores

_OPTION = Members(encoding="binary")
_LARGEST = 2**31  # bytes of a member; no value of a merged file is larger


class Member(NamedTuple):
    """A file in a merged file; a member that was not a file has neither name nor time."""

    file: str | None
    modified: datetime | None
    merged: str  # the name of the merged file
    offset: int  # before compression
    length: int


@click.group()
def members() -> None:
    """List the files in merged ones, and write them out again."""


@members.command("list")
@json_option
@click.argument("merged", nargs=-1, required=True)
def list_members(merged: tuple[str, ...], *, as_json: bool) -> None:
    """List the files in MERGED files, or in those of a folder."""
    stores = Stores()
    found = [member for uri in _files(stores, merged) for member in _listed(stores, uri)]
    if as_json:
        print_json([member._asdict() | {"modified": _iso(member)} for member in found])
    else:
        print_table(Member._fields, [member._replace(modified=_iso(member)) for member in found])  # type: ignore[arg-type]


@members.command("cat")
@click.argument("merged")
@click.argument("name")
def cat_member(merged: str, name: str) -> None:
    """Write the file of a NAME, or of the one name that ends in /NAME, from a MERGED file to standard output."""
    stores = Stores()
    found = [
        (uri, number, member)
        for uri in _files(stores, [merged])
        for number, member in enumerate(_listed(stores, uri))
        if member.file is not None and f"/{member.file}".endswith(f"/{name}")
    ]
    if len(found) != 1:
        msg = f"{merged} holds {len(found)} files named {name!r}; choose one that `blockread members list` names"
        raise SourceError(msg, merged)
    uri, number, _ = found[0]
    click.echo(_content(stores, uri, number), nl=False)


@members.command("extract")
@click.option("--to", "target", required=True, metavar="DIR", type=click.Path(path_type=Path), help="A folder here.")
@click.option("--base", metavar="URI", default="", help="Write the files below URI only, by the rest of their names.")
@click.argument("merged", nargs=-1, required=True)
def extract_members(merged: tuple[str, ...], target: Path, base: str) -> None:
    """Write all files in MERGED files, or in those of a folder, below DIR, by their names without the scheme."""
    stores, written = Stores(), 0
    below = uris.canonical(base).rstrip("/") + "/" if base else ""
    for uri in _files(stores, merged):
        for member, content in _contents(stores, uri):
            if member.file is not None and member.file.startswith(below):
                _write(target, member.file.removeprefix(below), member, content)
                written += 1
    click.echo(f"{plural(written, 'file')} written below {target}")


def _iso(member: Member) -> str | None:
    return None if member.modified is None else member.modified.isoformat()


def _files(stores: Stores, merged: tuple[str, ...] | list[str]) -> Iterator[str]:
    for place in map(stores.canonical, merged):
        if stores.holds_file(place):
            yield place
            continue
        found = list(_inside(stores, place))
        if not found:
            msg = f"{place} is no file and holds no merged files ({FILE_PREFIX}*); name one, or the folder of a merge"
            raise SourceError(msg, place)
        yield from found


def _inside(stores: Stores, folder: str) -> Iterator[str]:
    """Yield the merged files in a folder, and in those of partitions below it, in order."""
    yield from sorted(uri for uri, _ in stores.list_names(folder, FILE_PREFIX))
    for partition in sorted(stores.list_folders(folder)):
        if "=" in uris.name_of(partition):
            yield from _inside(stores, partition)


@contextmanager
def _opened(stores: Stores, uri: str) -> Iterator[tuple[ByteSource, Index | None]]:
    codec = codec_of(_OPTION, uri)
    with stores.open_read(uri) as file:
        if codec == PARQUET:
            yield RowSource(file, name=uri, max_record_bytes=_LARGEST), None
        else:
            source = FrameSource(file, name=uri) if codec else ByteSource(file, name=uri)
            yield source, read_index(stores, uri)


def _listed(stores: Stores, uri: str) -> Iterator[Member]:
    with _opened(stores, uri) as (_, index):
        if index is None:
            yield from (member for member, _ in _contents(stores, uri))
        else:
            rows = index.members.select(["_file", "_modified", "output", "offset", "length"]).to_pylist()
            yield from (Member(*row.values()) for row in rows)


def _content(stores: Stores, uri: str, number: int) -> bytes:
    """Return the bytes of a member; from an archive, only these bytes are read."""
    with _opened(stores, uri) as (source, index):
        if index is None:
            return next(content for at, (_, content) in enumerate(_contents(stores, uri)) if at == number)
        content = source.read(int(index.starts[number]), int(index.ends[number]))
        index.check(number, content)
        return content


def _contents(stores: Stores, uri: str) -> Iterator[tuple[Member, bytes]]:
    fmt, merged = MembersFormat(_OPTION), uris.name_of(uri)
    with _opened(stores, uri) as (source, index):
        for chunk in (fmt if index is None else fmt.with_index(index)).chunks(source, _LARGEST):
            for number, (file, modified) in enumerate(zip(*(c.to_pylist() for c in chunk.labels.columns), strict=True)):
                content = chunk.record(number)
                yield Member(file, modified, merged, chunk.offset + int(chunk.begins[number]), len(content)), content


def _write(target: Path, name: str, member: Member, content: bytes) -> None:
    """Write a file below the target; names and links that lead out of it are refused."""
    *folders, last = name.partition("://")[2].lstrip("/").split("/") if "://" in name else name.lstrip("/").split("/")
    if any(part in {"", ".", ".."} or "\0" in part for part in (*folders, last)):
        msg = f"{member.file!r} in {member.merged} names no place below {target}; write it by `blockread members cat`"
        raise SourceError(msg)
    place = target
    try:
        place.mkdir(parents=True, exist_ok=True)
        for part in folders:
            place /= part
            if place.is_symlink():
                raise FileExistsError(place)
            place.mkdir(exist_ok=True)
        place /= last
        with os.fdopen(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666), "wb") as file:
            file.write(content)
        if member.modified is not None:
            os.utime(place, (member.modified.timestamp(), member.modified.timestamp()))
    except OSError as error:
        why = "something is there" if isinstance(error, FileExistsError) else error.strerror
        msg = f"{place} cannot be written ({why}); choose an empty folder on a disk with room"
        raise SourceError(msg) from error
