"""The stores and catalogs of a ledger's windows, opened with Airflow's connections."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping

from airflow_provider_blockread.errors import OptionsError, TransientError
from airflow_provider_blockread.hooks.stores import Credentials, access_by, connection_of, credentials_for
from airflow_provider_blockread.ledger.overview.feed_options import newest_options, newest_sources
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.options import FileSource, GenerationOptions, Sink
from airflow_provider_blockread.options.values import from_json
from airflow_provider_blockread.storage import uris
from airflow_provider_blockread.storage.backends.shared.base import FsspecStore
from airflow_provider_blockread.storage.stores import Stores

_AGAIN_S = 30.0  # before the ledger is asked again for places that it does not know
_KEPT_S = 600.0  # before connections are looked up again, whose keys are rotated and whose assumed roles expire


class ConnectedAccess(Mapping[str, Mapping[str, str]]):
    """The fields of the connections of catalogs and databases, which are read when a page needs them, and not kept."""

    def __getitem__(self, conn_id: str) -> Mapping[str, str]:
        """Return the fields of a connection.

        Raises:
            OptionsError: when the connection does not exist.
        """
        if not conn_id:  # of a sink that names none
            raise KeyError(conn_id)
        return access_by(connection_of(conn_id))

    def __iter__(self) -> Iterator[str]:
        """Yield nothing, since connections are not known before they are requested."""
        return iter(())

    def __len__(self) -> int:
        """Return 0, as nothing is yielded."""
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
        """Return the store of a URI that is not on the local disk; see `Stores.remote`."""
        place, age_s = uris.canonical(uri), time.monotonic() - self._asked_at
        is_known = any(uris.relative_to(place, root) is not None for root in self._credentials)
        if age_s > (_KEPT_S if is_known else _AGAIN_S):
            self._learn()
        return super().remote(uri)

    def _learn(self) -> None:
        self._asked_at = time.monotonic()
        found: Credentials = {}
        for source in map(from_json, newest_sources(self._ledger)):
            if isinstance(source, FileSource):
                found |= _credentials_of(source, None)
        for options in map(GenerationOptions.from_json, newest_options(self._ledger)):
            found |= _credentials_of(None, options.sink)
        if any(self._credentials.get(root, given) != given for root, given in found.items()):
            self._opened.clear()
        self._credentials |= found


def _credentials_of(source: FileSource | None, sink: Sink | None) -> Credentials:
    try:
        found = credentials_for(source, sink)
    except (OptionsError, TransientError):  # the connection is gone, or not found now: only this feed's pages need it
        return {}
    return {uris.canonical(root): given for root, given in found.items()}
