"""Web servers: a folder is the page that lists it, whole, and each file that is wanted is looked at."""

from __future__ import annotations

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.errors import SourceError
from airflow_provider_blockread.storage.backends.pages import Entry, Page
from airflow_provider_blockread.storage.backends.remote import RemoteStore
from airflow_provider_blockread.storage.backends.web_index import Index, is_page, read_index
from airflow_provider_blockread.storage.identity import from_info

_PAGES = (".html", ".htm")
_DEEPEST = 64  # folders within folders; links that lead in circles end nowhere else


class WebPages:
    """The listings below a folder of a web server: a folder's files in order of their names, then its folders.

    Attributes:
        seconds: how long an index may take.
    """

    width = 4
    flat = False
    by_name = False
    folder_links = False
    seconds = 120.0

    def __init__(self, store: RemoteStore, path: str) -> None:
        self._store = store
        self._url = path.rstrip("/")

    def page(self, folder: str, cursor: str | None, *, flat: bool) -> Page:  # noqa: ARG002 - there is one, and never flat
        """Return a whole folder.

        Raises:
            SourceError: when the server gives no index of it, or it lies deeper than anybody's.
        """
        url = f"{self._url}/{folder}"
        if folder.count("/") > _DEEPEST:
            msg = (
                f"{self._url}: the folders of this server go on and on; set max_depth, or exclude what leads in circles"
            )
            raise SourceError(msg)
        index = self._index(url)
        if not index.sound:
            msg = (
                f"{url}: the server lists no files of this folder (it answers with {index.kind}); let it give an index,"
                " or name each file as a root"
            )
            raise SourceError(msg)
        if index.more:
            msg = (
                f"{url}: the index of this folder goes on in other pages, which are not followed; let the server give"
                " it in one page, or name each file as a root"
            )
            raise SourceError(msg)
        entries = (Entry(folder + name, folder=name.endswith("/")) for name in index.names)
        return Page.of(sorted(entries, key=lambda entry: (entry.folder, entry.name)))

    def root(self, uri: str, *, slash: bool) -> tuple[FileVersion | None, bool]:
        """Return the file that the root is, if it is one, and whether it is a folder: by its slash, or its links.

        Raises:
            SourceError: when it is a folder that the server does not list.
        """
        info: dict[str, object] = {} if slash else self._store.info(self._url)
        if info.get("type") != "file":
            self.page("", None, flat=False)
            return None, True
        if is_page(info) and not uri.endswith(_PAGES) and self._index(self._url).sound:
            return None, True
        return from_info(uri, info), False

    def _index(self, url: str) -> Index:
        return read_index(self._store.system, url, seconds=self.seconds)

    def look(self, uri: str, name: str) -> FileVersion | None:
        """Return the version of a file.

        Raises:
            SourceError: when it is a folder, whose files the index left out.
        """
        version = self._store.version(uri, f"{self._url}/{name}")
        if version is None:
            msg = (
                f"{uri}: a folder that its index names like a file; leave it out by exclude={[name, f'{name}/']}, and"
                f" name {uri}/ as a root if its files are wanted"
            )
            raise SourceError(msg)
        return version

    def addresses(self, name: str) -> bool:
        """Tell whether the client asks for this name: all but what stands behind a `#`."""
        return "#" not in name
