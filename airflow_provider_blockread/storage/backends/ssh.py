"""Files over SSH: connections that were lost are made anew, and files are renamed or left as they are.

sshfs, the file system, does neither: what it does where a server cannot rename over a file is to copy by a shell, and
to remove the file whatever came of that.
"""

from __future__ import annotations

from typing import Any

from fsspec.asyn import sync
from fsspec.spec import AbstractFileSystem


def connected(system: AbstractFileSystem) -> AbstractFileSystem:
    """Return the file system, or another one like it where its connection was lost."""
    if not system.client.is_closed():
        return system
    kind = type(system)
    kind._cache.pop(system._fs_token_, None)  # noqa: SLF001 - where fsspec would find the lost one again
    return kind(*system.storage_args, **system.storage_options)


def rename(system: AbstractFileSystem, source: str, target: str, *, over: bool) -> None:
    """Rename a file at once, `over` what has the new name.

    Of a file that may be replaced, a server that cannot rename over it has it removed first.

    Raises:
        FileExistsError: when something has the new name, and must stay.
    """
    from sshfs.utils import wrap_exceptions  # noqa: PLC0415 - of an extra

    sync(system.loop, wrap_exceptions(_rename), system, source, target, over=over)


def real_path(system: AbstractFileSystem, path: str) -> str:
    """Return a path as the server resolves it, all links in it followed."""
    from sshfs.utils import wrap_exceptions  # noqa: PLC0415 - of an extra

    return str(sync(system.loop, wrap_exceptions(_real_path), system, path))


async def _real_path(system: Any, path: str) -> str:  # noqa: ANN401 - of an extra
    async with system._pool.get() as channel:  # noqa: SLF001 - where its own calls get one
        return str(await channel.realpath(path))


async def _rename(system: Any, source: str, target: str, *, over: bool) -> None:  # noqa: ANN401 - of an extra
    from asyncssh.sftp import SFTPError, SFTPOpUnsupported  # noqa: PLC0415 - of an extra

    async with system._pool.get() as channel:  # noqa: SLF001 - where its own calls get one
        try:
            await (channel.posix_rename if over else channel.rename)(source, target)
        except SFTPOpUnsupported:
            if not over:
                raise
            if await _are_there(channel, source, target):
                await channel.remove(target)
            await channel.rename(source, target)
        except SFTPError as error:
            if not over and await _are_there(channel, source, target):
                raise FileExistsError(target) from error
            raise


async def _are_there(channel: Any, *paths: str) -> bool:  # noqa: ANN401 - of an extra
    return all([await channel.exists(path) for path in paths])
