"""The local disk, through the operating system: names may contain any bytes, writes are atomic and synced."""

from __future__ import annotations

import errno
import io
import os
import shutil
import stat
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, cast

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.storage.backends.disk_calls import (
    open_handle,
    open_regular,
    rename_if_free,
    require_utf8,
)
from airflow_provider_blockread.storage.backends.shared.identity import from_stat
from airflow_provider_blockread.storage.backends.shared.model import Store

_LONGEST = 200  # bytes of a file's name that its hidden name repeats; most disks allow 255

#: The parameter of `rmtree` for an error handler; before Python 3.12 the handler receives triples.
_ON_ERROR = "onexc" if sys.version_info >= (3, 12) else "onerror"


class LocalDisk(Store):
    """The local disk; every path is absolute, and errors are those of the operating system."""

    renames = True

    @classmethod
    def table_options(cls, options: Mapping[str, Any]) -> dict[str, str]:  # noqa: ARG003 - other stores need them
        """Return no options, because a disk does not need any."""
        return {}

    def version(self, uri: str, path: str) -> FileVersion | None:
        """Return the version of a file, or None if something else is there."""
        require_utf8(path)
        found = os.stat(path)  # noqa: PTH116 - making a Path takes longer than this call
        return from_stat(uri, found) if stat.S_ISREG(found.st_mode) else None

    def open_read(self, path: str) -> BinaryIO:
        """Return an unbuffered file: large reads go directly into the caller's bytes."""
        return cast("BinaryIO", open_regular(path))

    def open_write(self, path: str) -> BinaryIO:
        """Return a new file to fill, which replaces anything with its name, and never writes to a link or pipe."""
        Path(path).unlink(missing_ok=True)
        return cast("BinaryIO", _WrittenEarly(io.FileIO(path, "x")))

    def read_bytes(self, path: str) -> bytes:
        """Return a file's content."""
        with open_regular(path) as file:
            return file.readall()

    def read_head(self, path: str, most: int) -> bytes:
        """Return up to `most` first bytes of a file; this takes half the time of a file object."""
        handle = open_handle(path)
        try:
            data = os.read(handle, most)
            while len(data) < most and (piece := os.read(handle, most - len(data))):
                data += piece
        finally:
            os.close(handle)
        return data

    def write_bytes(self, path: str, data: bytes) -> None:
        """Replace a file atomically, so that it survives a power failure."""
        with _hidden_beside(Path(path)) as hidden:
            hidden.write_bytes(data)
            _replace_synced(hidden, Path(path))

    def remove(self, path: str) -> None:
        """Delete a file, if it is there."""
        Path(path).unlink(missing_ok=True)

    def rename(self, source: str, target: str) -> None:
        """Rename a file atomically, and replace any file with the new name."""
        Path(source).replace(target)

    def put_back(self, source: str, target: str) -> None:
        """Rename a file in two steps to a name that must be free."""
        _name_also(Path(source), Path(target))
        Path(source).unlink(missing_ok=True)

    def move(self, source: str, target: str) -> None:
        """Rename, or copy beside the target and rename if the work area is on another disk."""
        origin, place = Path(source), Path(target)
        if not _at_once(_replace_synced, origin, place):
            with _copy_beside(origin, place) as copy:
                _replace_synced(copy, place)
            origin.unlink(missing_ok=True)

    def place(self, source: str, target: str) -> None:
        """Give a file a second name, or copy it with its times to another disk; the new name must be free."""
        origin, place = Path(source), Path(target)
        if not _at_once(_name_also, origin, place):
            with _copy_beside(origin, place) as copy:
                _copy_attributes(origin, copy)
                _name_also(copy, place)

    def makedirs(self, path: str) -> None:
        """Make a folder and those above it."""
        Path(path).mkdir(parents=True, exist_ok=True)

    def names(self, path: str, prefix: str = "") -> Iterator[tuple[str, int]]:
        """Yield the name and size of each file directly in a folder whose name begins with `prefix`."""
        with os.scandir(path) as entries:
            for entry in entries:
                if entry.name.startswith(prefix) and entry.is_file():
                    yield entry.name, entry.stat().st_size

    def folders(self, path: str) -> Iterator[str]:
        """Yield the names of the folders directly in a folder."""
        with os.scandir(path) as entries:
            yield from sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))

    def remove_folder(self, path: str) -> None:
        """Delete a folder with everything in it, if it exists, even while another process deletes in it."""
        handler: dict[str, Any] = {_ON_ERROR: _unless_gone}
        shutil.rmtree(path, **handler)


def _unless_gone(_: object, __: str, error: BaseException | tuple[Any, BaseException, Any]) -> None:
    """Raise the error about an entry of a folder, unless the entry is no longer there."""
    found = error[1] if isinstance(error, tuple) else error
    if not isinstance(found, FileNotFoundError):
        raise found


class _WrittenEarly(io.BufferedWriter):
    """A file whose pages begin to be written to the disk when it is closed, so that a later sync is faster."""

    def close(self) -> None:
        """Close the file; advice to drop its pages makes the system write them."""
        try:
            if not self.closed and hasattr(os, "posix_fadvise"):
                self.flush()
                os.posix_fadvise(self.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            super().close()


def sync(path: Path) -> None:
    """Wait until a file's bytes, or a folder's names, are on disk; nothing is done for anything else."""
    if not stat.S_ISREG(mode := path.lstat().st_mode) and not stat.S_ISDIR(mode):
        return
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # it may be a pipe by now
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _hidden_beside(path: Path) -> Iterator[Path]:
    """Yield a new hidden name in the same folder, with the beginning of the file's name; it is deleted at the end."""
    begin = os.fsdecode(os.fsencode(path.name)[:_LONGEST])
    hidden = path.with_name(f".{begin}.{uuid.uuid4().hex[:12]}.tmp")
    try:
        yield hidden
    finally:
        hidden.unlink(missing_ok=True)


def _at_once(step: Callable[[Path, Path], None], source: Path, target: Path) -> bool:
    """Take a step between two names; return False if these are on two disks, or two mounts of one, as in containers."""
    if source.stat().st_dev != target.parent.stat().st_dev:
        return False
    try:
        step(source, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        return False
    return True


@contextmanager
def _copy_beside(source: Path, target: Path) -> Iterator[Path]:
    """Yield a copy of the source's bytes beside the target."""
    with _hidden_beside(target) as copy:
        shutil.copyfile(source, copy)
        yield copy


def _copy_attributes(source: Path, copy: Path) -> None:
    """Give a copy the times of its file, and the mode and other attributes where its disk allows these."""
    with suppress(PermissionError):  # a mode, as on a share of another system
        shutil.copystat(source, copy)
    found = source.stat()
    os.utime(copy, ns=(found.st_atime_ns, found.st_mtime_ns))


def _replace_synced(source: Path, target: Path) -> None:
    """Rename a file once its bytes are on disk, and also sync the name, so that a power failure loses neither."""
    sync(source)
    source.replace(target)
    sync(target.parent)


def _name_also(source: Path, target: Path) -> None:
    """Give a file a second name that is free; rename it if the disk, or its permissions, do not allow second names."""
    sync(source)
    try:
        os.link(source, target, follow_symlinks=False)
    except FileExistsError:
        raise
    except OSError:
        rename_if_free(str(source), str(target))
    sync(target.parent)
