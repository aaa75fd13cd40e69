"""Ledgers that are not there, not this package's or cannot be used: each message says what makes the command work."""

from __future__ import annotations

import shutil
import sys
from contextlib import closing, nullcontext
from dataclasses import replace
from importlib.metadata import requires
from pathlib import Path

import pytest
from sqlalchemy import text

from airflow_provider_blockread.errors import (
    ConflictError,
    LedgerSchemaError,
    OptionsError,
    WrongLedgerError,
)
from airflow_provider_blockread.ledger import trouble
from airflow_provider_blockread.ledger.feeds import open_feed
from airflow_provider_blockread.ledger.overview.windows import list_windows
from airflow_provider_blockread.ledger.schema import tables
from airflow_provider_blockread.ledger.schema.tables import feeds
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.windows.queries import feed_counts
from tests.ledger.schema.revisions import one_more_revision
from tests.ledgers import open_ledger
from tests.pipeline.make import Pipe
from tests.postgres import new_schema
from tests.remedies.advice import commands
from tests.remedies.desk import Desk


@pytest.mark.parametrize(
    ("wrong", "written"),
    [
        ("sqlite://{folder}/new.db", "sqlite:////folder/file.db"),
        ("sqlite://", "sqlite:////folder/file.db"),
        ("no address", "sqlite:////folder/file.db"),
        ("mysql://me@host/db", "sqlite:////folder/file.db"),
    ],
)
def test_an_address_as_the_message_writes_it(desk: Desk, tmp_path: Path, wrong: str, written: str) -> None:
    """The form that the message gives, with a folder and a file of one's own, makes a ledger."""
    message = desk.refused("windows", "list", state=wrong.format(folder="host" + str(tmp_path)))
    assert written in message
    url = written.replace("/folder/file.db", f"{tmp_path}/new.db")

    assert "created" in desk.done("db", "upgrade", state=url)
    desk.done("windows", "list", state=url)


@pytest.mark.postgres
def test_an_address_of_a_server_as_the_message_writes_it(server: str) -> None:
    """A second @ is written as %40, and another driver is left out: then the server is reached."""
    url = new_schema(server, "addresses")
    wrong = url.replace("postgresql://postgres:", "postgresql://postgres:p@ss", 1)
    with pytest.raises(OptionsError, match="write one that belongs to the user or the password as %40"):
        Ledger(wrong)
    with pytest.raises(OptionsError, match="postgresql://user@host/database, with the driver psycopg 3"):
        Ledger(url.replace("postgresql:", "postgresql+psycopg2:"))
    for right in (wrong.replace("p@ss", "p%40ss"), url):
        with closing(Ledger(right)) as ledger:
            ledger.check()


@pytest.mark.postgres
def test_several_hosts_as_the_message_writes_them(server: str) -> None:
    """The first one that answers is used; no part of the password is shown."""
    url = new_schema(server, "hosts")
    folder, rest = url.split("host=")[1].split("&", 1)
    with pytest.raises(OptionsError, match=r"several hosts .*\?host=one,other&port=5432,5432$") as refused:
        Ledger("postgresql://me:geheim@one:5432,other:5433/db?sslmode=disable")
    assert "geheim" not in str(refused.value)

    with closing(Ledger(f"postgresql://postgres@/postgres?host=/nowhere,{folder}&port=5432,5432&{rest}")) as ledger:
        ledger.check()


@pytest.mark.postgres
def test_when_the_driver_prepares_statements(server: str) -> None:
    """A number is taken, and so is the word that the message gives."""
    url = new_schema(server, "prepared")
    with pytest.raises(OptionsError, match=r"prepare_threshold='often'; write a number, .* or none, for never"):
        Ledger(f"{url}&prepare_threshold=often")
    for right in ("0", "5", "none"):
        with closing(Ledger(f"{url}&prepare_threshold={right}")) as ledger:
            ledger.check()


@pytest.mark.parametrize("missing", ["file", "tables", "identity", "older"])
def test_a_ledger_is_made_or_brought_up_to_date(desk: Desk, tmp_path: Path, missing: str) -> None:
    """The command that the message names, with the ledger's URL in the place of URL."""
    url = f"sqlite:///{tmp_path}/other.db"
    look = ["plan", str(desk.pipe.source)] if missing == "identity" else ["windows", "list"]
    if missing != "file":
        _lacking(Ledger(url), tmp_path / "other.db", missing)
    with one_more_revision() if missing == "older" else nullcontext():
        desk.done(*_with(url, desk.refused(*look, state=url)))
        desk.done(*look, state=url)


def _with(url: str, message: str) -> list[str]:
    return [url if word == "URL" else word for word in commands(message)[0]]


def _lacking(ledger: Ledger, file: Path, missing: str) -> None:
    if missing == "tables":
        file.touch()
    else:
        ledger.upgrade()
    if missing == "identity":
        with ledger.writing() as connection:
            connection.execute(text("DELETE FROM ledger"))
    ledger.close()


def test_a_ledger_whose_file_is_gone(here: Pipe, tmp_path: Path) -> None:
    """Nothing creates an empty one in its place; with the file back, the same process goes on, as the message says."""
    here.put({"a.txt": b"a\n"})
    here.run()
    here.close()
    ledger, file = here.env.ledger, tmp_path / "ledger.db"
    file.rename(tmp_path / "backup.db")
    for use in (lambda: list_windows(ledger), lambda: open_feed(ledger, "other")):
        with pytest.raises(LedgerSchemaError, match=r"ledger\.db is gone: restore its file from a backup"):
            use()
    assert not file.exists()

    (tmp_path / "backup.db").rename(file)
    [found] = list_windows(ledger)
    assert found.state == "published"


@pytest.mark.parametrize("remedy", ["newer backup", "removed"])
def test_a_ledger_from_an_old_backup(here: Pipe, remedy: str) -> None:
    """With a newer one, or without the output of the windows that it lacks, each record is there once."""
    ledger, old, new = (here.folder / name for name in ("ledger.db", "old.db", "new.db"))

    def swap(source: Path, target: Path) -> None:
        here.close()  # which leaves one file
        shutil.copy(source, target)
        here.env = here.environment("ledger.db")

    for name, backup in (("a", old), ("b", new)):
        here.put({f"{name}.txt": name.encode()})
        lost = here.run(name).window
        swap(ledger, backup)
    swap(old, ledger)
    here.put({"c.txt": b"c"})
    with pytest.raises(WrongLedgerError, match=rf"lacks windows that it has planned \({lost}\)") as refused:
        here.run("c")
    assert "restore a newer backup; or remove what they have published, then file://" in str(refused.value)
    if remedy == "newer backup":
        swap(new, ledger)
    else:
        [published] = here.out.glob(f"part-w{lost}-*")
        published.unlink()
        (here.work / here.feed / "ledger").unlink()
    here.run("c")

    assert here.values() == ["a", "b", "c"]


def test_a_ledger_without_one_of_its_tables(here: Pipe, desk: Desk, tmp_path: Path) -> None:
    """The upgrade finds it at the newest revision already, and the backup helps, as the message says."""
    here.put({"a.txt": b"a\n"})
    here.run()
    here.close()
    shutil.copy(tmp_path / "ledger.db", tmp_path / "backup.db")
    with here.env.ledger.writing() as connection:
        connection.execute(text("DROP TABLE listings"))
    here.close()
    message = desk.refused("plan", str(here.source), "--name", "feed")
    assert "already" in desk.done(*_with(desk.url, message))
    assert "lacks a table" in desk.refused("plan", str(here.source), "--name", "feed")
    assert "restore it from a backup" in message
    shutil.copy(tmp_path / "backup.db", tmp_path / "ledger.db")

    desk.done("plan", str(here.source), "--name", "feed")


def test_a_newer_ledger_needs_a_newer_package(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The package that knows the revision works with it; both the check and the upgrade say so."""
    url = f"sqlite:///{tmp_path}/other.db"
    with monkeypatch.context() as older:
        newest = tables.REVISIONS
        desk.done("db", "upgrade", state=url)
        older.setattr(tables, "REVISIONS", newest[:-1])
        for command in (["windows", "list"], ["db", "upgrade"]):
            assert "newer than this package; upgrade airflow-provider-blockread" in desk.refused(*command, state=url)

    desk.done("windows", "list", state=url)
    desk.done("db", "upgrade", state=url)


def test_a_folder_that_cannot_be_made(desk: Desk, tmp_path: Path) -> None:
    """Once the path is a folder's, the ledger is made."""
    taken = tmp_path / "taken"
    taken.touch()
    url = f"sqlite:///{taken}/home/ledger.db"
    assert "its folder cannot be created (Not a directory); correct the path" in desk.refused(
        "db", "upgrade", state=url
    )
    taken.unlink()

    desk.done("db", "upgrade", state=url)


@pytest.mark.postgres
def test_a_ledger_on_a_network_file_system_moves(
    desk: Desk, tmp_path: Path, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Put on a local disk, the same file works; so does a ledger in PostgreSQL."""
    shared = tmp_path / "share"
    shared.mkdir()
    open_ledger(f"sqlite:///{shared}/ledger.db").close()
    (tmp_path / "mounts").write_text(f"root / ext4 rw 0 0\nhost:/x {shared} nfs4 rw 0 0\n")
    monkeypatch.setattr(trouble, "_MOUNTS", tmp_path / "mounts")
    message = desk.refused("windows", "list", state=f"sqlite:///{shared}/ledger.db")
    assert "put it on a local disk, or use PostgreSQL: postgresql://user@host/database" in message
    (tmp_path / "local").mkdir()
    shutil.move(shared / "ledger.db", tmp_path / "local" / "ledger.db")

    desk.done("windows", "list", state=f"sqlite:///{tmp_path}/local/ledger.db")
    with closing(Ledger(new_schema(server, "moved"))) as ledger:
        ledger.check()


@pytest.mark.postgres
def test_a_ledger_is_copied_to_where_none_is_in_use(here: Pipe, desk: Desk, tmp_path: Path, server: str) -> None:
    """An empty schema or a new file, as the message says; the copy knows what was read."""
    here.put({"a.txt": b"a\n"})
    here.run()
    for new in (new_schema(server, "copied", upgraded=False), f"sqlite:///{tmp_path}/new/ledger.db"):
        message = desk.refused("db", "copy", "--to", desk.url)
        assert "is in use already; name a new file, or an empty database or schema" in message
        assert f"rows of sqlite:///{tmp_path}/ledger.db, identity {here.env.ledger.uuid}" in desk.done(
            "db", "copy", "--to", new
        )
        with closing(Ledger(new)) as ledger:
            here.env = replace(here.env, ledger=ledger)
            assert here.run("again").status == "empty"
            here.env = here.environment("ledger.db")


def test_another_process_changed_the_same_rows(tmp_path: Path) -> None:
    """A row that two processes insert is a conflict for one of them, and the retry finds it."""
    with closing(open_ledger(f"sqlite:///{tmp_path}/ledger.db")) as ledger:
        row = {"name": "feed", "created_at": ledger.now()}
        with ledger.writing() as connection:
            connection.execute(feeds.insert().values(row))
        with pytest.raises(ConflictError, match="another process changed the same rows"), ledger.writing() as again:
            again.execute(feeds.insert().values(row))

        assert open_feed(ledger, "feed") == 1


def test_a_driver_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra that the message names holds it."""
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(OptionsError, match=r"install airflow-provider-blockread\[postgres\]"):
        Ledger("postgresql://me@host/db").check()

    assert any(
        line.startswith("psycopg") and "postgres" in line for line in requires("airflow-provider-blockread") or ()
    )


@pytest.mark.parametrize(("feed", "times"), [("before", 1), ("file://{}", 2)])
def test_files_of_another_feed(here: Pipe, desk: Desk, feed: str, times: int) -> None:
    """The other feed's name continues it, this one's own reads them again; without a name nothing is read."""
    here.put({"a.txt": b"a\n"})
    command = ("run", str(here.source), "--output", str(here.out))
    desk.done(*command, "--name", "before")

    message = desk.refused(*command)
    name = feed.format(here.source)
    assert "name the feed (feed=..., --name)" in message
    assert f"{name!r} to" in message
    assert here.values() == ["a"]
    assert feed_counts(here.env.ledger, f"file://{here.source}") == {"ignored": 1}
    desk.done(*command, "--name", name)
    assert here.values() == ["a"] * times
