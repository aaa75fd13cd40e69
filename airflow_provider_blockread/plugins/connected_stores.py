"""The stores and catalogs of a ledger's windows, with what Airflow's connections hold of them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.hooks.stores import access_by, connection_of, credentials_for
from airflow_provider_blockread.ledger.overview.feed_options import newest_options, newest_sources
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.options import FileSource, GenerationOptions
from airflow_provider_blockread.options.values import from_json
from airflow_provider_blockread.storage import uris
from airflow_provider_blockread.storage.backends.shared.base import FsspecStore
from airflow_provider_blockread.storage.stores import Stores

_AGAIN_S = 30.0  # before the ledger is asked again for places that it does not know


class ConnectedAccess(Mapping[str, Mapping[str, str]]):
    """What the connections of catalogs and databases hold; each is asked for when a page needs it, and not kept."""

    def __getitem__(self, conn_id: str) -> Mapping[str, str]:
        """Return what a connection holds.

        Raises:
            OptionsError: when there is none.
        """
        if not conn_id:  # of a sink that names none
            raise KeyError(conn_id)
        return access_by(connection_of(conn_id))

    def __iter__(self) -> Iterator[str]:
        """Name none: they are not known before they are asked for."""
        return iter(())

    def __len__(self) -> int:
        """Count those that are named."""
        return 0


class ConnectedStores(Stores):
    """Stores that learn from a ledger which connection opens which place.

    A feed's newest source and sink name the connections. A place that they do not name is opened with the server's own
    identity.
    """

    def __init__(self, ledger: Ledger) -> None:
        super().__init__()
        self._ledger = ledger
        self._asked_at = float("-inf")

    def remote(self, uri: str) -> tuple[FsspecStore, str]:
        """Return the store of a URI that is not of the local disk; see `Stores.remote`."""
        place = uris.canonical(uri)
        if not any(uris.relative_to(place, root) is not None for root in self._credentials):
            self._learn()
        return super().remote(uri)

    def _learn(self) -> None:
        if time.monotonic() - self._asked_at < _AGAIN_S:
            return
        self._asked_at = time.monotonic()
        for source in map(from_json, newest_sources(self._ledger)):
            if isinstance(source, FileSource):
                self._add(source, None)
        for options in map(GenerationOptions.from_json, newest_options(self._ledger)):
            self._add(None, options)

    def _add(self, source: FileSource | None, options: GenerationOptions | None) -> None:
        try:
            found = credentials_for(source, options.sink if options else None)
        except OptionsError:  # its connection is gone: only this feed's pages lack it
            return
        self._credentials |= {uris.canonical(root): dict(given) for root, given in found.items()}
