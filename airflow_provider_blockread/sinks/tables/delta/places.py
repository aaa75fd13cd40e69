"""Places in Delta tables, which deltalake spells as URLs."""

from __future__ import annotations

import re
from urllib.parse import unquote

from deltalake import DeltaTable

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.storage import uris

#: What the library decodes, takes for a separator, or refuses in the path of a folder.
_UNREAD = re.compile(r"%[0-9A-Fa-f]{2}|[\\\x00-\x1f\x7f]")
#: What it cuts off or refuses in addition in the path of a store.
_UNREAD_IN_STORES = re.compile(r"[?#]|(?<![:/])//")


def folder_of(uri: str) -> str:
    """Return the canonical URI of a table's folder.

    Raises:
        OptionsError: when the library would look for the table elsewhere.
    """
    uri = uris.canonical(uri)
    found = _UNREAD.search(uri) or (None if uris.is_local(uri) else _UNREAD_IN_STORES.search(uri))
    if found:
        msg = (
            f"{uri}: a Delta table's path cannot hold {found[0]!r}, which its library does not read literally; rename"
            " the folder"
        )
        raise OptionsError(msg)
    return uri


def named_in(folder: str, table: DeltaTable, listed: str) -> str:
    """Return the canonical URI of a file that the library lists; it follows links to the folder of the table."""
    uri, root = (uris.canonical(unquote(text)) for text in (listed, table.table_uri))
    inner = uris.relative_to(uri, root)
    return uri if inner is None else uris.child(folder, inner)
