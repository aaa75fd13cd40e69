"""`blockread members`: lists the files in merged files, and extracts them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import click

from airflow_provider_blockread.cli.options.shared import json_option
from airflow_provider_blockread.cli.terminal.printing import print_json, print_table
from airflow_provider_blockread.errors import SourceError, shell_word
from airflow_provider_blockread.options import Members, nanoseconds
from airflow_provider_blockread.options.parsing.sizes import plural
from airflow_provider_blockread.records.format import PARQUET, codec_of
from airflow_provider_blockread.records.io.seek_table import FrameSource
from airflow_provider_blockread.records.io.source import ByteSource
from airflow_provider_blockread.records.members.format import MembersFormat
from airflow_provider_blockread.records.members.index import LONGEST, Index
from airflow_provider_blockread.records.members.rows import RowSource
from airflow_provider_blockread.sinks.archive import read_index
from airflow_provider_blockread.sinks.names import FILE_PREFIX
from airflow_provider_blockread.storage import uris
from airflow_provider_blockread.storage.stores import Stores

_OPTION = Members(encoding="binary")


class Member(NamedTuple):
    """A file in a merged file; a member that was not a file has neither name nor time."""

    file: str | None
    modified: datetime | None
    merged: str  # the name of the merged file
    offset: int  # before compression
    length: int


@click.group()
def members() -> None:
    """List, print or extract the files that merged files hold."""


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
    found = [one for one in found if one[2].file == name] or found  # a whole name may be the end of another one
    if len({member.file for *_, member in found}) != 1:
        msg = (
            f"{merged} holds {len(found) or 'no'} files named {name!r}; choose one that `blockread members list` names"
        )
        raise SourceError(msg, merged)
    uri, number, member = found[0]
    if len(found) > 1:
        raise _doubled(str(member.file), uri, found[1][0])
    click.echo(_content(stores, uri, number), nl=False)


@members.command("extract")
@click.option("--to", "target", required=True, metavar="DIR", type=click.Path(path_type=Path), help="A folder here.")
@click.option("--base", metavar="URI", default="", help="Write the files below URI only, by the rest of their names.")
@click.argument("merged", nargs=-1, required=True)
def extract_members(merged: tuple[str, ...], target: Path, base: str) -> None:
    """Write all files in MERGED files, or in those of a folder, below DIR, by their names without the scheme."""
    stores = Stores()
    files = list(dict.fromkeys(_files(stores, merged)))
    below = uris.canonical(base).rstrip("/") + "/" if base else ""
    count = _require_places(_names(stores, files, below), target, below)
    if below and not count:
        command = f"blockread members list {' '.join(map(shell_word, merged))}"
        msg = f"no file in {', '.join(merged)} is below {below}; `{command}` shows their names"
        raise SourceError(msg)
    for uri in files:
        for member, content in _contents(stores, uri):
            if member.file is not None and member.file.startswith(below):
                _write(target, _place(target, member.file, below, uri), member, content)
    click.echo(f"{plural(count, 'file')} written below {target}")


def _iso(member: Member) -> str | None:
    return None if member.modified is None else member.modified.isoformat()


def _files(stores: Stores, merged: tuple[str, ...] | list[str]) -> Iterator[str]:
    for place in map(stores.canonical, merged):
        if stores.holds_file(place):
            yield place
            continue
        found = list(_inside(stores, place))
        if not found:
            msg = (
                f"{place} is neither a merged file nor a folder with merged files ({FILE_PREFIX}*); name one, or the"
                " folder of a merge"
            )
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
            yield RowSource(file, name=uri, max_record_bytes=LONGEST), None
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


def _names(stores: Stores, files: list[str], below: str) -> Iterator[tuple[str, str]]:
    """Yield the name of each member below a base, with the merged file that holds it."""
    for uri in files:
        with _opened(stores, uri) as (source, index):
            names: Iterable[str | None] = ()
            if isinstance(source, RowSource):
                names = source.names()
            elif index is not None:
                names = index.labels.column("_file").to_pylist()
            yield from ((name, uri) for name in names if name is not None and name.startswith(below))


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
        for chunk in (fmt if index is None else fmt.with_index(index)).chunks(source, LONGEST):
            for number, (file, modified) in enumerate(zip(*(c.to_pylist() for c in chunk.labels.columns), strict=True)):
                content = chunk.record(number)
                yield Member(file, modified, merged, chunk.offset + int(chunk.begins[number]), len(content)), content


def _require_places(named: Iterator[tuple[str, str]], target: Path, below: str) -> int:
    """Return how many members there are, given by name and merged file; each has a place of its own below the target.

    Raises:
        SourceError: when one has none, or two have the same.
    """
    taken: dict[str, tuple[str, str]] = {}
    for name, uri in named:
        place = _place(target, name, below, uri)
        if place in taken:
            raise _clashing(target, taken[place], (name, uri))
        taken[place] = (name, uri)
    for place, found in taken.items():
        folder = place.rpartition("/")[0]
        while folder:
            if folder in taken:  # object stores may have a file and a folder of one name
                raise _clashing(target, taken[folder], found)
            folder = folder.rpartition("/")[0]
    return len(taken)


def _clashing(target: Path, one: tuple[str, str], other: tuple[str, str]) -> SourceError:
    (name, uri), (other_name, other_uri) = one, other
    if name == other_name:
        return _doubled(name, uri, other_uri)
    msg = (
        f"{name!r} and {other_name!r} cannot both be written below {target}; write one of them by `blockread members"
        " cat`, and the others with --base"
    )
    return SourceError(msg)


def _doubled(name: str, uri: str, other_uri: str) -> SourceError:
    if uri != other_uri:
        msg = f"{uri} and {other_uri} both hold {name!r}; name one of these merged files instead of their folder"
        return SourceError(msg, uri)
    command = f"blockread run {shell_word(uri)} --format members --format-option encoding=binary"
    msg = f"{uri} holds {name!r} more than once; read all that is in it by `{command}`, with an --output of your choice"
    return SourceError(msg, uri)


def _place(target: Path, name: str, below: str, merged: str) -> str:
    """Return the path of a member below the target, which is nowhere else."""
    rest = name.removeprefix(below)
    place = (rest.partition("://")[2] if "://" in rest else rest).lstrip("/")
    if any(part in {"", ".", ".."} or "\0" in part for part in place.split("/")):
        msg = f"{name!r} in {merged} names no place below {target}; write it by `blockread members cat`"
        raise SourceError(msg)
    return place


def _create(place: Path, member: Member, content: bytes) -> None:
    """Write a file under another name and rename it, so that what has its name is whole."""
    part = place.with_name(f".blockread-{os.getpid()}")
    part.unlink(missing_ok=True)  # of a process that was killed, such as the one of this number in an earlier container
    try:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666), "wb") as file:
            file.write(content)
        if member.modified is not None:
            modified = nanoseconds(member.modified)
            os.utime(part, ns=(modified, modified))
        part.rename(place)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _write(target: Path, path: str, member: Member, content: bytes) -> None:
    """Write a file below the target, and nowhere else: no link leads out of it. One that is there already may stay."""
    *folders, last = path.split("/")
    place = target
    try:
        place.mkdir(parents=True, exist_ok=True)
        for part in folders:
            place /= part
            if place.is_symlink():
                raise FileExistsError(place)
            place.mkdir(exist_ok=True)
        place /= last
        if not os.path.lexists(place):
            _create(place, member, content)
        elif place.is_symlink() or not place.is_file() or place.read_bytes() != content:
            raise FileExistsError(place)
    except OSError as error:
        why = "something else is there" if isinstance(error, FileExistsError) else error.strerror
        msg = f"{place} cannot be written ({why}); choose an empty folder on a disk with room"
        raise SourceError(msg) from error
