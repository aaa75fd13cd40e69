"""Transactions with a PostgreSQL database that reuse one connection, since opening one takes 40 ms or more."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import contextmanager

from adbc_driver_postgresql import dbapi


class Connections:
    """The connections to a database; one is kept open between transactions, and closed with this object.

    Args:
        url: the URL of the database.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._kept: tuple[dbapi.Connection, weakref.finalize[[], Connections]] | None = None

    @contextmanager
    def transaction(self) -> Iterator[dbapi.Cursor]:
        """Yield a transaction that is committed at the end of the body; nested transactions use another connection.

        Raises:
            Error: of the driver; the connection is then no longer used.
        """
        connection = self._taken()
        try:
            with connection.cursor() as cursor:
                yield cursor
                connection.commit()
        except BaseException:
            connection.close()
            raise
        self._keep(connection)

    def _taken(self) -> dbapi.Connection:
        if self._kept is None:
            return dbapi.connect(self._url)
        connection, closing = self._kept
        self._kept = None
        closing.detach()
        return connection

    def _keep(self, connection: dbapi.Connection) -> None:
        if self._kept is None:
            self._kept = connection, weakref.finalize(self, connection.close)
        else:
            connection.close()
