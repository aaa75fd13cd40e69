"""What object stores have in common: keys below a prefix, `/` between folders, and versions that they compare."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Coroutine, Iterator, Mapping
from copy import copy
from typing import Any, TypeVar, cast

from fsspec.asyn import sync

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.errors import FileChangedError, OptionsError, SourceError
from airflow_provider_blockread.storage.backends.shared.base import FsspecStore
from airflow_provider_blockread.storage.backends.shared.errors import as_error, fault_of
from airflow_provider_blockread.storage.backends.shared.identity import from_info
from airflow_provider_blockread.storage.backends.shared.pages import Pages
from airflow_provider_blockread.storage.ranges import Fetch

_SLOWEST = 2**16  # bytes of an answer in a second; what takes longer is asked for again
_Answer = TypeVar("_Answer")
_OTHER = frozenset({"PreconditionFailed", "ConditionNotMet", "status 412"})  # the object is another version
_UNKNOWN = frozenset({"NotImplemented", "status 501"})  # the service does not support the condition


class ObjectStore(FsspecStore):
    """A store of objects: nothing is renamed, and requests can be bound to a version.

    Thus all reads of a version return that version's bytes, however often the object is overwritten and restored
    between two reads.
    """

    renames = False
    has_folders = False

    def names(self, path: str, prefix: str = "") -> Iterator[tuple[str, int]]:
        """Yield the name and size of each file directly in a folder whose name begins with `prefix`."""
        if not prefix:
            yield from super().names(path)
            return
        self.system.invalidate_cache()
        found: dict[str, dict[str, object]] = self.system.find(path, prefix=prefix, detail=True)
        self.system.invalidate_cache()
        start = f"{path.rstrip('/')}/"
        for place, info in sorted(found.items()):
            name = place.removeprefix(start)
            if info["type"] == "file" and name.startswith(prefix) and "/" not in name:
                yield name, cast("int", info["size"])

    def addresses(self, path: str) -> bool:
        """Return whether the client reads a path as exactly that bucket and key, and no version of another key."""
        stripped = self.system._strip_protocol(path)  # noqa: SLF001 - what each of its calls begins with
        return tuple(self.system.split_path(stripped)[:2]) == path.partition("/")[::2]

    @abstractmethod
    async def delete_object(self, path: str, etag: str) -> None:
        """Delete an object on the condition that it is this version."""

    @abstractmethod
    async def read_range(self, path: str, etag: str, start: int, end: int) -> bytes:
        """Return the bytes [start, end) on the condition that the object is this version; calls `require_version`.

        It asks once, since the caller retries.
        """

    def delete_if(self, path: str, etag: str | None) -> bool | None:
        """Delete an object if it is this version, and return whether it was; None if the server cannot compare."""
        if etag is None:
            return None
        try:
            sync(self.system.loop, self.delete_object, path, etag)
        except FileExistsError:  # raised by the clients of S3 and Google
            return False
        except Exception as error:
            word = fault.word if (fault := fault_of(error)) else ""
            if word in _OTHER:
                return False
            if word in _UNKNOWN:
                return None
            raise
        finally:
            self.system.invalidate_cache()
        return True

    def pinned(self, path: str, etag: str | None) -> Fetch | None:
        """Return a function that fetches ranges of one version of an object; retries are left to the caller."""
        if etag is None:
            return None

        def fetch(start: int, end: int) -> bytes:
            seconds = Pages.seconds + (end - start) / _SLOWEST
            return cast("bytes", sync(self.system.loop, self.read_range, path, etag, start, end, timeout=seconds))

        return fetch


def require_version(path: str, found: str, planned: str) -> None:
    """Make sure that an answer is from the planned version, since some servers ignore the condition.

    Raises:
        SourceError: if the answer does not state its version.
        FileChangedError: if it is from another version.
    """
    if not found:
        msg = f"{path}: the server does not say which version its answer is of; copy the file to a store that does"
        raise SourceError(msg, path)
    if found != planned:
        msg = (
            f"{path} is no longer the version that was planned: planned {planned}, the store gave {found}; restore it,"
            " or exclude it with `blockread windows exclude`, then retry"
        )
        raise FileChangedError(msg, path)


class ObjectPages(Pages):
    """The listings below a path of a bucket or container, in order of keys.

    Attributes:
        size: the maximum number of entries in a page.
    """

    width = 8
    flat = True
    size = 1000

    def __init__(self, store: FsspecStore, path: str) -> None:
        self._store = store
        self._system = store.system
        self._bucket, key, _ = store.system.split_path(path)
        self._root = f"{key}/" if key else ""

    def root(self, uri: str, tail: str) -> tuple[FileVersion | None, bool]:
        """Return the object with the root's own name, if it is a file, and whether the root is a folder.

        The root is a folder if there are keys below it; an empty object of its name then only represents the folder.
        With a trailing slash, the root is never the object.

        Raises:
            FileNotFoundError: if there is neither.
            OptionsError: if the name ends in more than one slash.
        """
        if len(tail) > 1:
            msg = f"{uri}{tail} ends in a folder without a name, which cannot be a root; name the one above it, {uri}/"
            raise OptionsError(msg)
        whole = not self._root  # a bucket, for which stat may need other rights than a listing
        if (whole or tail) and (self._has_keys() or whole):
            return None, True
        info = self._store.info(f"{self._bucket}/{self._root[:-1]}")
        is_file = info["type"] == "file" and not stands_for_folder(info.get("metadata"))
        file = from_info(uri, info) if is_file else None
        if tail and file is not None and file.size:
            raise FileNotFoundError
        if file is None or tail:
            return None, True
        try:
            folder = self._has_keys()
        except Exception as error:
            if file.size and isinstance(as_error(uri, error), SourceError):  # it may be readable, but not listable
                return file, False
            raise
        return (None if folder and not file.size else file), folder

    def _has_keys(self) -> bool:
        """Return whether there are keys below the root."""
        few = copy(self)
        few.size = 1
        page = few.page("", None, flat=True)
        return bool(page.names) or page.cursor is not None

    def ask(self, request: Callable[..., Coroutine[Any, Any, _Answer]], *arguments: object) -> _Answer:
        """Return the answer to a request of the store's client."""
        answer: _Answer = sync(self._system.loop, request, *arguments, timeout=self.seconds)
        return answer

    def name_in(self, key: str) -> str:
        """Return the name of a key relative to the root.

        Raises:
            OSError: if the key is not below the root.
        """
        if not key.startswith(self._root):
            msg = "the answer holds names that were not asked for"
            raise OSError(0, msg)
        return key[len(self._root) :]

    def version(self, uri: str, name: str) -> FileVersion | None:
        """Return the version of an object."""
        return self._store.version(uri, f"{self._bucket}/{self._root}{name}")

    def addresses(self, name: str) -> bool:
        """Return whether the store's client reads the path of a name as exactly that key."""
        return self._store.addresses(f"{self._bucket}/{self._root}{name}")


def stands_for_folder(metadata: object) -> bool:
    """Return whether the metadata of a blob mark it as a folder, whose files are separate blobs."""
    known = {key.lower(): value for key, value in metadata.items()} if isinstance(metadata, Mapping) else {}
    return "true" in {str(known.get(key)).lower() for key in ("hdi_isfolder", "is_directory")}


def renamed(options: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, str]:
    """Return the options that are set, under another library's names."""
    return {to: str(options[name]) for name, to in names.items() if options.get(name)}
