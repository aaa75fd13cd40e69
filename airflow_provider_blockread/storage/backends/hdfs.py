"""HDFS: through Hadoop's own library, or through WebHDFS, which needs neither Java nor Hadoop."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from fsspec.spec import AbstractFileSystem

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.storage.backends.shared.base import FolderPages, FsspecStore, entry_of
from airflow_provider_blockread.storage.backends.shared.pages import Page, Pages

_BATCH = "LISTSTATUS_BATCH"
_BLOCK = 128 * 2**20  # Hadoop's own default
_SILENCE_S = 120.0  # for which a server may keep a request waiting


class HdfsStore(FsspecStore):
    """A name node and its data nodes."""

    _block_size: int | None = None

    def connect(self, uri: str, named: Mapping[str, object], options: Mapping[str, object]) -> AbstractFileSystem:
        """Return the file system.

        Raises:
            OptionsError: if Java or Hadoop's library is not installed here.
        """
        try:
            return super().connect(uri, named, options)
        except OSError as error:
            if "Unable to load lib" not in str(error):  # pyarrow's words for both
                raise
            msg = (
                f"{uri}: HDFS needs Java and Hadoop's libhdfs here (JAVA_HOME, HADOOP_HOME, CLASSPATH); install them,"
                " or write webhdfs://, which needs neither"
            )
            raise OptionsError(msg) from None

    def block_size(self, path: str) -> int:
        """Return the block size of the first existing file that is asked for; later calls return the same."""
        if self._block_size is None:
            try:
                found = self.info(path).get("blockSize")
            except FileNotFoundError:  # reading it will raise; the next file decides
                return _BLOCK
            self._block_size = found if isinstance(found, int) and found > 0 else _BLOCK
        return self._block_size


class WebHdfsStore(HdfsStore):
    """HDFS over HTTP. The name node redirects to data nodes, which do not get its credentials."""

    def connect(self, uri: str, named: Mapping[str, object], options: Mapping[str, object]) -> AbstractFileSystem:
        """Return the file system, whose session sends credentials only to the name node, and ends silent requests."""
        system = super().connect(uri, named, options)
        if not isinstance(system.session.request, partial):  # fsspec would wait for a silent server forever
            system.session.request = partial(system.session.request, timeout=_SILENCE_S)
        if system.session.auth is not None and not isinstance(system.session.auth, _OwnOrigin):
            system.session.auth = _OwnOrigin(system.session.auth, system.url)
        return system

    def pages(self, path: str) -> Pages:
        """Return the listings below a folder."""
        return _WebHdfsPages(self, path)


class _OwnOrigin:
    """Credentials of a session of `requests` that are sent to one server only."""

    def __init__(self, auth: Any, url: str) -> None:  # noqa: ANN401 - any of the kinds that `requests` knows
        self._auth, self._origin = auth, _origin(url)

    def __call__(self, request: Any) -> Any:  # noqa: ANN401 - of `requests`, which is no dependency
        return self._auth(request) if _origin(request.url) == self._origin else request


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme)


class _WebHdfsPages(FolderPages):
    """The listings below a folder, by name: in pages if the name node supports them (Hadoop 2.8), otherwise whole."""

    _whole = False

    def page(self, folder: str, cursor: str | None, *, flat: bool) -> Page:
        """Return as many entries of a folder as the name node returns at once."""
        if self._whole:
            return super().page(folder, cursor, flat=flat)
        try:
            more = {} if cursor is None else {"startAfter": cursor}
            answer = self._store.system._call(_BATCH, path=self.place(folder), **more)  # noqa: SLF001 - no public call has pages
            found: dict[str, Any] = answer.json()["DirectoryListing"]
        except (ValueError, RuntimeError) as error:  # an older name node, or gateway, does not know the operation
            if cursor is not None or (isinstance(error, RuntimeError) and _BATCH not in str(error)):
                raise
            self._whole = True
            return super().page(folder, cursor, flat=flat)
        statuses = found["partialListing"]["FileStatuses"]["FileStatus"]
        entries = [entry_of(folder, {**status, "name": status["pathSuffix"]}) for status in statuses]
        return Page.of(entries, statuses[-1]["pathSuffix"] if found["remainingEntries"] else None)
