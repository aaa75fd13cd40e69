"""Cleaning of one file, after the intent was recorded; each function returns the file's new state.

Only versions that were read are ever removed: a file that has changed stays, no matter how late it changed.
"""

from __future__ import annotations

from collections.abc import Mapping

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.blocks.ids import digest, same_version, version_digest
from airflow_provider_blockread.errors import FileMissingError, SourceError
from airflow_provider_blockread.ledger.schema.columns import SHORT
from airflow_provider_blockread.ledger.upkeep.cleaning import CleanFile, write_target
from airflow_provider_blockread.steps.model import Environment
from airflow_provider_blockread.steps.plan.cleaned import found_at
from airflow_provider_blockread.storage import uris
from airflow_provider_blockread.storage.contents import same_content
from airflow_provider_blockread.storage.versions import is_no_file

_LONGEST = 200  # bytes of a file's name that its other name repeats; most disks allow 255


def what_was_done(env: Environment, file: CleanFile) -> str | None:
    """Return the state that an earlier, interrupted call has left a file in, or None if there is still work to do."""
    if file.begun is None:
        return None
    taken = env.stores.finish_delete(file.version)
    if taken is None and _why_not_there(env, file) is None:
        return None
    return "done" if taken and file.begun[0] == "delete" else _what_became(env, file, *file.begun)


def tag_file(env: Environment, file: CleanFile, tags: Mapping[str, str]) -> str:
    """Add tags to a file if it is still the version that was read; return its state."""
    left = _why_not_there(env, file)
    if left is not None:
        return left
    try:
        env.stores.tag(file.version.path, tags)
    except FileMissingError:
        return "gone"
    return "done"


def delete_file(env: Environment, file: CleanFile) -> str:
    """Delete a file if it is still the version that was read; return its state."""
    left = _why_not_there(env, file)
    if left is not None:
        return left
    try:
        if env.stores.delete_version(file.version):
            return "done"
    except FileMissingError:  # another call cleans the same files
        pass
    return _what_became(env, file, "delete", None)


def archive_file(env: Environment, file: CleanFile, wanted: str) -> str:
    """Move a file that is still the version that was read to a place in the archive, or beside it if that is taken.

    Raises:
        SourceError: when both places are taken, or the file is not complete in the archive.
    """
    left = _why_not_there(env, file)
    if left is not None:
        return left
    target = wanted
    try:
        target = _free_place(env, file, wanted)
        if target != wanted:
            write_target(env.ledger, file, target)
        if found_at(env, target) is None:
            env.stores.place(file.version.path, target)
        return _leave(env, file, target)
    except FileMissingError:  # another call cleans the same files
        return _what_became(env, file, "archive", target)


def _leave(env: Environment, file: CleanFile, target: str) -> str:
    """Remove an archived file from its place or, if it is not the version that was read, from the archive."""
    stores, version = env.stores, file.version
    kept, there = found_at(env, target), found_at(env, version.path)
    if there is not None and same_version(there, version):
        if kept is None or kept.size != version.size:
            raise _not_whole(version, target)
        stores.delete_version(version)  # spares a file that has replaced it meanwhile
        return "done"
    if kept is None:
        raise _not_whole(version, target)
    if _is_copy(kept, version):
        return "done"
    if there is not None:  # it changed while it was copied
        stores.remove(target)
        return "changed"
    if stores.renames(target):  # it changed before it was renamed
        stores.place(target, version.path)
        stores.remove(target)
        return "changed"
    if kept.size != version.size:
        raise _not_whole(version, target)
    return "done"


def _not_whole(version: FileVersion, target: str) -> SourceError:
    msg = (
        f"the copy of {version.path} in the archive, {target}, is incomplete; if the original is still in its place,"
        " remove the copy, then repeat"
    )
    return SourceError(msg, version.path)


def _free_place(env: Environment, file: CleanFile, wanted: str) -> str:
    """Return where the file goes: a free place, or the place to which an interrupted call has already copied it."""
    name = uris.name_of(wanted).encode()[:_LONGEST].decode(errors="ignore")
    own = uris.child(uris.parent(wanted), f"{name}.{digest(file.version.path, version_digest(file.version))[:SHORT]}")
    begun = {own} if file.begun is None else {own, file.begun[1]}
    for target in (wanted, own):
        try:
            there = found_at(env, target)
        except SourceError:
            if is_no_file(env.stores, target):
                continue
            raise
        if there is None:
            return target
        if target in begun and same_content(env.stores, file.version.path, target):
            return target
    msg = f"{file.version.path} cannot be archived: {wanted} is taken by other content; move that away, then repeat"
    raise SourceError(msg, file.version.path)


def _why_not_there(env: Environment, file: CleanFile) -> str | None:
    """Return the state of a file that is not in its place as it was read; None if it is."""
    try:
        there = found_at(env, file.version.path)
    except SourceError:
        if is_no_file(env.stores, file.version.path):
            return "changed"
        raise
    if there is None:
        return "gone"
    return None if same_version(there, file.version) else "changed"


def _what_became(env: Environment, file: CleanFile, action: str, target: str | None) -> str:
    """Return the state of a file that is no longer in its place, after the intent was recorded."""
    left = _why_not_there(env, file) or "changed"
    if action == "archive" and target is not None:
        kept = found_at(env, target)
        whole = kept is not None and kept.size == file.version.size
        if kept is not None and whole and (left == "gone" or _is_copy(kept, file.version)):
            return "done"
    elif action == "delete" and left == "gone":
        return "done"
    return left


def _is_copy(kept: FileVersion, version: FileVersion) -> bool:
    return same_version(kept._replace(path=version.path), version)
