"""Transactions with a PostgreSQL database that reuse one connection, since opening one takes 40 ms or more."""

from __future__ import annotations

import re
import weakref
from collections.abc import Iterator
from contextlib import contextmanager

from adbc_driver_manager import Error
from adbc_driver_postgresql import dbapi

from airflow_provider_blockread.libpq import ENCODING, PARAMETERS

_URL = re.compile(r"(?P<place>\w+://([^@/]*@)?[^?]*)\??(?P<query>.*)")  # as libpq finds the end of a password


class Connections:
    """The connections to a database; one is kept open between transactions, and closed with this object.

    Args:
        url: the URL of the database.
    """

    def __init__(self, url: str) -> None:
        self._url = _with_parameters(url)
        self._kept: list[dbapi.Connection] = []  # one at most
        weakref.finalize(self, _close, self._kept)

    @contextmanager
    def transaction(self) -> Iterator[dbapi.Cursor]:
        """Yield a transaction that is committed at the end of the body; nested transactions use another connection.

        Raises:
            Error: of the driver; the connection is then no longer used.
        """
        connection = self._opened()
        try:
            with connection.cursor() as cursor:
                yield cursor
                connection.commit()
        except BaseException:
            connection.close()
            raise
        if self._kept:
            connection.close()
        else:
            self._kept.append(connection)

    def _opened(self) -> dbapi.Connection:
        """Return the connection that is kept, unless the server or a firewall has closed it meanwhile, or a new one."""
        while self._kept:
            connection = self._kept.pop()
            try:
                connection.execute("SELECT 1").close()
            except Error:
                connection.close()
            else:
                return connection
        return dbapi.connect(self._url)


def _with_parameters(url: str) -> str:
    """Return the URL of a database with this package's parameters; of one that is given twice, the last one counts."""
    parts = _URL.fullmatch(url)
    if parts is None:  # the user's own database
        return url
    parameters = list(filter(None, parts["query"].split("&")))
    given = {parameter.partition("=")[0] for parameter in parameters}
    parameters += [f"{name}={value}" for name, value in PARAMETERS.items() if name not in given]
    parameters += [f"{name}={value}" for name, value in ENCODING.items()]
    return f"{parts['place']}?{'&'.join(parameters)}"


def _close(connections: list[dbapi.Connection]) -> None:
    for connection in connections:
        connection.close()
