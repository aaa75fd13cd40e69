"""PostgreSQL servers whose settings differ from those of a new one."""

from __future__ import annotations

import re
import socket
import threading
import time
from contextlib import closing, suppress

import pytest
from sqlalchemy import select, text

from airflow_provider_blockread.errors import LedgerSchemaError, LedgerUnavailableError
from airflow_provider_blockread.ledger.feeds import open_feed
from airflow_provider_blockread.ledger.files.discovery import record_files
from airflow_provider_blockread.ledger.schema import tables
from airflow_provider_blockread.ledger.store import Ledger
from tests.ledger.make import version

on_a_server = pytest.mark.parametrize("url", [pytest.param("postgresql", marks=pytest.mark.postgres)], indirect=True)


@on_a_server
@pytest.mark.parametrize("style", ["German", "SQL", "Postgres"])
def test_times_in_a_style_that_the_driver_cannot_read(ledger: Ledger, url: str, style: str) -> None:
    """A role or database may prefer another style for people; times come back all the same."""
    made = select(tables.ledger.c.created_at)
    with closing(Ledger(f"{url}%20-cDateStyle%3D{style}")) as other, other.reading() as connection:
        found = connection.scalar(made)
    with ledger.reading() as connection:
        assert connection.scalar(made) == found


def _refuse(listening: socket.socket) -> None:
    """Answer clients as PgBouncer does one that sends parameters which it does not track."""
    said = b"SFATAL\0C08P01\0Munsupported startup parameter: options\0\0"
    with suppress(OSError):  # until it is closed
        while True:
            with listening.accept()[0] as client:
                client.recv(int.from_bytes(client.recv(4)))
                client.sendall(b"E" + (len(said) + 4).to_bytes(4) + said)


@on_a_server
def test_a_pooler_that_takes_no_options(ledger: Ledger, url: str) -> None:
    """The message says where else a schema can be named, and there it works."""
    server, _, schema = url.partition("&options=-csearch_path%3D")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=_refuse, args=(listening,), daemon=True).start()
        pooler = f"postgresql://me@127.0.0.1:{listening.getsockname()[1]}/db?options=-csearch_path%3D{schema}"
        pooler += "&sslmode=disable&gssencmode=disable"
        said = (
            r"unsupported startup parameter: options; .* leave `options` out .*`ALTER ROLE ... SET search_path TO ...`"
        )
        with closing(Ledger(pooler)) as refused, pytest.raises(LedgerSchemaError, match=said):
            refused.check()
    with ledger.writing() as connection:
        connection.execute(text(f"CREATE ROLE me_{schema} LOGIN SUPERUSER"))
        connection.execute(text(f"ALTER ROLE me_{schema} SET search_path TO {schema}"))

    with closing(Ledger(server.replace("//postgres:", f"//me_{schema}:"))) as mine:
        assert open_feed(mine, "f") == open_feed(ledger, "f")


@on_a_server
def test_a_logical_replica(ledger: Ledger) -> None:
    """It has all rows, but its sequences are those of a new ledger; the message says what moves them on."""
    record_files(ledger, "a", [version("1")])
    with ledger.writing() as connection:
        for table in ("feeds", "files", "listings"):
            connection.execute(text(f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), 1, false)"))
    said = (
        r"duplicate key .*; its sequences are behind its tables, .* run `(SELECT setval\(.*\) FROM files)`, then retry"
    )
    for feed in ("a", "b"):
        with pytest.raises(LedgerSchemaError, match=said) as refused:
            record_files(ledger, feed, [version("1"), version("2")])
    advice = re.findall(said, str(refused.value))[0]
    with ledger.writing() as connection:
        for table in ("feeds", "files", "listings", "requests"):
            connection.execute(text(advice.replace("files", table)))

    for feed, new in (("a", 1), ("b", 2)):
        assert record_files(ledger, feed, [version("1"), version("2")]).new == new


@on_a_server
def test_a_transaction_that_may_not_last(ledger: Ledger) -> None:
    """The server ends it, nothing of it is kept, and the message names the setting."""

    def last() -> None:
        with ledger.writing() as connection:
            connection.execute(text("SET LOCAL idle_in_transaction_session_timeout TO 20"))
            connection.execute(tables.feeds.insert().values(name="lost", created_at=ledger.now()))
            time.sleep(0.5)
            connection.execute(select(tables.feeds.c.id))

    with pytest.raises(LedgerUnavailableError, match=r"idle-in-transaction.*SET idle_in_transaction_session_timeout"):
        last()
    with ledger.reading() as connection:
        assert connection.scalar(select(tables.feeds.c.id)) is None


@on_a_server
def test_rows_that_a_policy_guards(ledger: Ledger, url: str) -> None:
    """Whether a row or many are refused, the message says how the user passes the policy by, and then it does."""
    schema = url.rpartition("%3D")[2]
    for statement in (
        f"CREATE ROLE guarded_{schema} LOGIN",
        f"GRANT ALL ON SCHEMA {schema} TO guarded_{schema}",
        f"GRANT ALL ON ALL TABLES IN SCHEMA {schema} TO guarded_{schema}",
        f"GRANT ALL ON ALL SEQUENCES IN SCHEMA {schema} TO guarded_{schema}",
        "ALTER TABLE files ENABLE ROW LEVEL SECURITY",
        "ALTER TABLE feeds ENABLE ROW LEVEL SECURITY",
        "CREATE POLICY known ON feeds USING (name = 'known')",
    ):
        with ledger.writing() as connection:
            connection.execute(text(statement))
    open_feed(ledger, "known")
    said = r"row-level security.*; let its user pass it by \(`ALTER ROLE ... BYPASSRLS`\)"
    with closing(Ledger(url.replace("//postgres:", f"//guarded_{schema}:"))) as guarded:
        for feed in ("new", "known"):
            with pytest.raises(LedgerUnavailableError, match=said):
                record_files(guarded, feed, [version("1")])
        with ledger.writing() as connection:
            connection.execute(text(f"ALTER ROLE guarded_{schema} BYPASSRLS"))

        assert record_files(guarded, "known", [version("1")]).new == 1
