"""Commands that create or migrate a ledger: those that plan, and `db upgrade`."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from airflow_provider_blockread.errors import LedgerSchemaError, OptionsError
from airflow_provider_blockread.ledger.migrations import current
from airflow_provider_blockread.ledger.store import Ledger
from tests.cli.place import Place
from tests.ledger.schema.revisions import one_more_revision

_OTHERS = [
    ["files", "list", "feed"],
    ["files", "new", "in"],
    ["windows", "list"],
    ["windows", "show", "k"],
    ["windows", "abandon", "k", "--yes"],
    ["windows", "undo", "k", "--yes"],
    ["windows", "exclude", "k", "in/a", "--reason", "x", "--yes"],
    ["windows", "rebuild", "k", "--yes"],
    ["reprocess", "--window", "k", "--yes"],
    ["prune", "--yes"],
    ["clean", "--restore", "k", "--yes"],
]


@pytest.mark.parametrize("command", _OTHERS, ids=lambda command: " ".join(command[:2]))
def test_a_reading_command_creates_no_ledger(place: Place, command: list[str]) -> None:
    """The error for a missing ledger names the command that creates it, and nothing is created."""
    typo = Place(folder=place.folder, ledger=f"sqlite:///{place.folder}/typo/ledger.db")
    done = typo.call(*command)

    assert isinstance(done.exception, LedgerSchemaError)
    said = "does not exist: set --state or BLOCKREAD_STATE, or create it; run `blockread db upgrade"
    assert said in str(done.exception)
    assert not (place.folder / "typo").exists()


@pytest.mark.parametrize(
    "command", [["plan", "in"], ["run", "in", "--output", "out"], *_OTHERS], ids=lambda command: " ".join(command[:2])
)
def test_no_command_but_the_upgrade_migrates(place: Place, command: list[str]) -> None:
    """An older ledger is refused with the command that upgrades it, and is not changed."""
    ledger = Ledger(place.state[1], now=lambda: datetime(2026, 1, 9, tzinfo=UTC))
    ledger.upgrade()
    with one_more_revision():
        done = place.call(*command)
        with ledger.reading() as connection:
            revision = current(connection)
        ledger.close()

        assert isinstance(done.exception, LedgerSchemaError)
        assert "older than this package; run `blockread db upgrade" in str(done.exception)
        assert revision == "0001"
        assert "upgraded from revision 0001" in place.call("db", "upgrade").stdout


def test_a_plan_makes_its_ledger(place: Place) -> None:
    """Where there is none, or an empty file."""
    (place.folder / "ledger.db").touch()
    for ledger in ("ledger.db", "new/ledger.db"):
        here = Place(folder=place.folder, ledger=f"sqlite:///{place.folder}/{ledger}")
        assert here.json("plan", str(place.source))["files"] == 0
        assert here.json("windows", "list") == []


def test_a_malformed_address_is_refused(place: Place) -> None:
    """Two slashes precede a host, which SQLite does not have."""
    done = Place(folder=place.folder, ledger="sqlite://tmp/x.db").call("windows", "list")

    assert isinstance(done.exception, OptionsError)
