"""What databases complain of: each complaint that a test can cause, and that the advice for it helps."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable
from contextlib import ExitStack, closing
from itertools import count
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from airflow_provider_blockread.errors import BlockReadError, LedgerSchemaError
from airflow_provider_blockread.ledger import dialect, trouble
from airflow_provider_blockread.ledger.feeds import open_feed, require_feed
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.upkeep.copying import copy_ledger
from tests.postgres import new_schema

_NUMBERS = count()
_BEFORE_PREPARED = 5  # executions of a statement, until psycopg prepares it

#: What no test carries out, and why.
_NOT_HERE = {
    r"disk is full|^53100": "tests/ledger/test_trouble.py::test_a_full_disk does, in a process of its own",
    r"disk I/O error": "only a disk that breaks causes it",
    r"^23505.*pk_(feeds|files|listings|requests)": "tests/ledger/test_servers.py::test_a_logical_replica does",
    r"unsupported startup parameter": "tests/ledger/test_servers.py::test_a_pooler_that_takes_no_options does",
    r"^53300|too many (clients|connections)|connection slots": "tests would need a server of their own for it",
    r"query_wait_timeout|max_client_conn": "tests would need a pooler for it",
    r"^25P0[34]|idle transaction timeout": "tests/ledger/test_servers.py::test_a_transaction_that_may_not_last does",
    r"row-level security": "tests/ledger/test_servers.py::test_rows_that_a_policy_guards does",
}


def _use(url: str) -> None:
    """Upgrade a ledger and write to it."""
    with closing(Ledger(url)) as ledger:
        ledger.upgrade()
        open_feed(ledger, f"feed {next(_NUMBERS)}")


def _refused(url: str) -> str:
    with pytest.raises(BlockReadError) as refused:
        _use(url)
    return str(refused.value)


def _sign(message: str) -> str:
    """Return the complaint, as the table of advice names it, whose advice ends the message."""
    return max((s for s, advice in trouble._REMEDIES.items() if message.endswith(advice)), key=len)


def _read_only(folder: Path) -> tuple[str, str]:
    _use(url := f"sqlite:///{folder}/ledger.db")
    return f"sqlite:///file:{folder}/ledger.db?mode=ro&uri=true", url


def _no_file(folder: Path) -> tuple[str, str]:
    return f"sqlite:///{folder}", f"sqlite:///{folder}/ledger.db"


def _something_else(folder: Path) -> tuple[str, str]:
    (folder / "ledger.db").write_bytes(b"a text that is no database" * 100)
    return f"sqlite:///{folder}/ledger.db", f"sqlite:///{folder}/other.db"


def _same_names(folder: Path) -> tuple[str, str]:
    with closing(sqlite3.connect(folder / "ledger.db")) as other:
        other.execute("CREATE TABLE windows (a INTEGER)")
    return f"sqlite:///{folder}/ledger.db", f"sqlite:///{folder}/other.db"


@pytest.mark.parametrize(
    ("make", "sign"),
    [
        (_read_only, "readonly database"),
        (_no_file, "unable to open"),
        (_something_else, "is not a database"),
        (_same_names, "already exists"),
    ],
)
def test_a_file(tmp_path: Path, make: Callable[[Path], tuple[str, str]], sign: str) -> None:
    """The address that the advice leads to works."""
    wrong, right = make(tmp_path)
    assert _sign(_refused(wrong)) == sign

    _use(right)


def test_a_damaged_file(tmp_path: Path) -> None:
    """A backup in its place is as it was."""
    file, url = tmp_path / "ledger.db", f"sqlite:///{tmp_path}/ledger.db"
    _use(url)
    backup = file.read_bytes()
    file.write_bytes(backup[:100] + b"\xff" * 8_000 + backup[8_100:])
    assert _sign(_refused(url)) == "is malformed|malformed database"
    file.write_bytes(backup)

    _use(url)


def test_a_file_that_another_process_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once that one has ended, the retry works."""
    monkeypatch.setattr(dialect, "_BUSY_TIMEOUT_S", 0.2)
    _use(url := f"sqlite:///{tmp_path}/ledger.db")
    with closing(sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert _sign(_refused(url)) == "is locked"

    _use(url)


#: What harms a schema of its own and how its ledger's URL goes wrong; then what the advice says, and the right URL.
_SERVER: dict[str, tuple[str, str, str]] = {
    "^25006": ("", "{url}%20-cdefault_transaction_read_only%3Don", ""),
    "^42501.*for schema": (
        "CREATE ROLE {schema}_r; GRANT USAGE ON SCHEMA {schema} TO {schema}_r",
        "{url}%20-crole%3D{schema}_r",
        "GRANT USAGE, CREATE ON SCHEMA {schema} TO {schema}_r",
    ),
    "^42501": (
        (
            "CREATE ROLE {schema}_r; GRANT USAGE, CREATE ON SCHEMA {schema} TO {schema}_r; made;"
            " GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {schema}_r"
        ),
        "{url}%20-crole%3D{schema}_r",
        (
            "GRANT ALL ON ALL TABLES IN SCHEMA {schema} TO {schema}_r;"
            " GRANT ALL ON ALL SEQUENCES IN SCHEMA {schema} TO {schema}_r"
        ),
    ),
    "^3F000": ("", "{url}_not_there", "CREATE SCHEMA {schema}_not_there"),
    'database ".*" does not exist': ("", "{url:database}", "CREATE DATABASE {schema}"),
    'role ".*" does not exist': ("", "{url:user}", "CREATE ROLE {schema} LOGIN SUPERUSER"),
    "^57014": (
        (
            "made; CREATE ROLE {schema} LOGIN SUPERUSER; ALTER ROLE {schema} SET statement_timeout TO '100ms';"
            " ALTER TABLE {schema}.feeds ADD CHECK (CAST(pg_sleep(0.3) AS text) IS NOT NULL)"
        ),
        "{url:user}",
        "ALTER ROLE {schema} SET statement_timeout TO '1min'",
    ),
    "already exists": ("CREATE TABLE {schema}.feeds (a int)", "{url}", "CREATE SCHEMA {schema}_free"),
}


@pytest.mark.postgres
@pytest.mark.parametrize("sign", _SERVER)
def test_a_server(server: str, sign: str) -> None:
    """The statement that the advice names, and a retry."""
    schema = f"trouble_{list(_SERVER).index(sign)}"
    url = new_schema(server, schema, upgraded=False)
    harm, wrong, remedy = (text_.replace("{schema}", schema) for text_ in _SERVER[sign])
    database = url.replace("/postgres?", f"/{schema}?")
    user = url.replace("//postgres:@", f"//{schema}:@")
    wrong = wrong.replace("{url:database}", database).replace("{url:user}", user).replace("{url}", url)
    _execute(server, harm, url)
    assert _sign(_refused(wrong)) == sign
    _execute(server, remedy, url)
    right = {"^25006": url, "already exists": f"{url}_free", 'database ".*" does not exist': f"{database}"}

    if sign.startswith("database"):
        _execute(server.replace("/postgres?", f"/{schema}?"), f"CREATE SCHEMA {schema}", url)
    _use(right.get(sign, wrong))


def _execute(server: str, statements: str, url: str) -> None:
    engine = create_engine(server.replace("postgresql:", "postgresql+psycopg:"), isolation_level="AUTOCOMMIT")
    with ExitStack() as stack:
        stack.callback(engine.dispose)
        connection = stack.enter_context(engine.connect())
        for statement in filter(None, (one.strip() for one in statements.split(";"))):
            if statement == "made":
                _use(url)
            else:
                connection.execute(text(statement))


@pytest.mark.postgres
def test_a_server_whose_rows_others_hold(server: str) -> None:
    """Once they have ended, the retry works."""
    url = new_schema(server, "held")
    impatient = f"{url}%20-clock_timeout%3D100"
    engine = create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    with ExitStack() as stack:
        stack.callback(engine.dispose)
        with engine.connect() as other:
            other.execute(text("LOCK TABLE feeds"))
            assert _sign(_refused(impatient)) == "^(55P03|40P01)"
        _use(impatient)


@pytest.mark.postgres
def test_a_pooler_in_transaction_mode(server: str) -> None:
    """Where another client has prepared a statement on the connection, the parameter in the URL helps."""
    url = new_schema(server, "pooled")

    def use_often(url: str) -> None:
        with closing(Ledger(url)) as ledger, ledger.writing() as connection:
            connection.execute(text("PREPARE _pg3_0 AS SELECT 1"))
            for _ in range(2 * _BEFORE_PREPARED):
                connection.execute(text("SELECT * FROM feeds"))

    with pytest.raises(LedgerSchemaError, match="prepared statement") as refused:
        use_often(url)
    assert _sign(str(refused.value)) == "^(42P05|26000)"

    use_often(f"{url}&prepare_threshold=none")


@pytest.mark.postgres
def test_a_password_that_is_wrong(server: str) -> None:
    """Corrected in the URL, it lets in."""
    url = new_schema(server, "secret")
    _execute(server, "CREATE ROLE ann LOGIN SUPERUSER PASSWORD 'right'", url)
    with closing(Ledger(url)) as ledger, ledger.reading() as connection:
        rules = Path(str(connection.scalar(text("SHOW hba_file"))))
    before = rules.read_text("utf-8")
    rules.write_text(f"local all ann scram-sha-256\nhost all ann all scram-sha-256\n{before}", "utf-8")
    _execute(server, "SELECT pg_reload_conf()", url)
    try:
        for password in ("wrong@", ""):
            wrong = url.replace("//postgres:@", f"//ann:{password.replace('@', '%40')}@")
            assert _sign(_refused(wrong)) == "authentication failed|no password supplied"
        _use(url.replace("//postgres:@", "//ann:right@"))
    finally:
        rules.write_text(before, "utf-8")
        _execute(server, "SELECT pg_reload_conf()", url)


@pytest.mark.postgres
def test_a_name_that_is_too_long(server: str) -> None:
    """A retry cannot help; a shorter name does."""
    name = "".join(hashlib.sha256(bytes([number])).hexdigest() for number in range(100))
    with closing(Ledger(new_schema(server, "long"))) as ledger:
        with pytest.raises(LedgerSchemaError) as refused:
            open_feed(ledger, name)
        assert _sign(str(refused.value)) == "^54000"
        open_feed(ledger, name[:2_000])


@pytest.mark.postgres
def test_a_database_of_another_encoding(server: str) -> None:
    """What it can hold is the same text for all clients; for other names, the copy in a database of UTF-8 is used."""
    made = "TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C' ENCODING"
    narrow, wide = (server.replace("/postgres?", f"/{name}?") for name in ("narrow", "wide"))
    _execute(server, f"CREATE DATABASE narrow {made} 'LATIN1'; CREATE DATABASE wide {made} 'UTF8'", "")
    with closing(Ledger(narrow)) as ledger, closing(Ledger(wide)) as copy:
        ledger.upgrade()
        open_feed(ledger, "caf\xe9")
        with pytest.raises(LedgerSchemaError) as refused:
            open_feed(ledger, "\u732b")
        assert _sign(str(refused.value)) == "^22P05"

        copy_ledger(ledger, copy)
        open_feed(copy, "\u732b")
        assert require_feed(copy, "caf\xe9") == 1


@pytest.mark.postgres
def test_a_server_that_cannot_be_reached(server: str, tmp_path: Path) -> None:
    """The advice for all else: once it is up and reachable, the retry works."""
    url = new_schema(server, "nowhere")
    assert _refused(url.replace("host=", f"host={tmp_path}/")).endswith("check that it is up and reachable, then retry")

    _use(url)


def test_every_complaint_is_caused_somewhere() -> None:
    """A new one needs a test here, or a reason."""
    caused = {"readonly database", "unable to open", "is not a database", "already exists", "is locked"}
    caused |= {
        "^54000",
        "^22P05",
        "^(42P05|26000)",
        "is malformed|malformed database",
        "^(55P03|40P01)",
        "authentication failed|no password supplied",
    }

    assert caused | set(_SERVER) | set(_NOT_HERE) == set(trouble._REMEDIES)
