"""Deleting an object only if it is still the version that one means; the store itself compares."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from fsspec.asyn import sync
from fsspec.spec import AbstractFileSystem

from airflow_provider_blockread.storage.faults import fault_of

_OTHER = frozenset({"PreconditionFailed", "ConditionNotMet", "status 412"})  # words for: it is another version
_UNKNOWN = frozenset({"NotImplemented", "status 501"})  # and for a condition that a service does not know


async def _s3(system: AbstractFileSystem, path: str, etag: str) -> None:
    bucket, key, _ = system.split_path(path)
    await system._call_s3("delete_object", Bucket=bucket, Key=key, IfMatch=f'"{etag}"')  # noqa: SLF001 - no other way


async def _azure(system: AbstractFileSystem, path: str, etag: str) -> None:
    from azure.core import MatchConditions  # noqa: PLC0415 - an extra

    container, _, blob = path.partition("/")
    async with system.service_client.get_blob_client(container, blob) as client:
        await client.delete_blob(etag=f'"{etag}"', match_condition=MatchConditions.IfNotModified)


async def _google(system: AbstractFileSystem, path: str, generation: str) -> None:
    bucket, key, _ = system.split_path(path)
    await system._call("DELETE", "b/{}/o/{}", bucket, key, ifGenerationMatch=generation)  # noqa: SLF001 - no other way


_Delete = Callable[[AbstractFileSystem, str, str], Awaitable[None]]
#: By the package that the file system comes from: its protocols have many names.
_DELETES: dict[str, _Delete] = {"s3fs": _s3, "adlfs": _azure, "gcsfs": _google}


def remove_if(system: AbstractFileSystem, path: str, etag: str | None) -> bool | None:
    """Delete an object if it is this version, and tell whether it was; None where the store cannot compare."""
    delete = _DELETES.get(type(system).__module__.partition(".")[0])
    if delete is None or etag is None:
        return None
    try:
        sync(system.loop, delete, system, path, etag)
    except FileExistsError:  # what the clients of S3 and Google make of that
        return False
    except Exception as error:
        word = _word(error)
        if word in _OTHER:
            return False
        if word in _UNKNOWN:
            return None
        raise
    finally:
        system.invalidate_cache()
    return True


def _word(error: Exception) -> str:
    fault = fault_of(error)
    return "" if fault is None else fault.word
