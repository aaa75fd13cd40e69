"""What the web server and tasks find by Airflow's connections: the credentials of stores, and links to pages."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.ledger.files.discovery import record_files
from airflow_provider_blockread.ledger.model import GroupRef
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.windows.groups import claim_group, record_submission
from airflow_provider_blockread.links.pages import OutputLink, SparkLink, WindowLink
from airflow_provider_blockread.operators.commit_window import CommitWindowOperator
from airflow_provider_blockread.operators.read_blocks import ReadBlocksOperator
from airflow_provider_blockread.options import GenerationOptions, IcebergSink, ParquetSink
from airflow_provider_blockread.plugins import connected_stores
from airflow_provider_blockread.plugins.airflow_site import airflow_site
from airflow_provider_blockread.plugins.connected_stores import ConnectedStores
from tests.ledger.make import FEED, STALE_S, freeze_window, pending, plan, version

pytestmark = pytest.mark.airflow


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ledger:
    """A ledger behind the connection `mine`."""
    ledger = Ledger(f"sqlite:///{tmp_path / 'ledger.db'}")
    ledger.upgrade()
    extra = {"url": f"sqlite:///{tmp_path / 'ledger.db'}"}
    monkeypatch.setenv("AIRFLOW_CONN_MINE", json.dumps({"conn_type": "blockread", "extra": extra}))
    monkeypatch.setenv("AIRFLOW__BLOCKREAD__LEDGER_CONN_IDS", "other, mine")
    return ledger


def _window(ledger: Ledger, **options: Any) -> str:
    record_files(ledger, FEED, [version("a")], complete=False)
    return freeze_window(ledger, replace(plan("k", files=1, groups=1), **options), pending(ledger)).id


def test_a_place_is_opened_by_the_connection_of_its_feed(place: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """The newest generation names the connection of the output; a place that no feed has needs none."""
    monkeypatch.setenv("AIRFLOW_CONN_LAKE", json.dumps({"conn_type": "aws", "login": "key-of-lake", "password": "x"}))
    sink = ParquetSink("s3://lake/out", conn_id="lake")
    _window(place, options=GenerationOptions(sink=sink).to_json())
    stores = ConnectedStores(place)
    stores.remote("s3://elsewhere/a")
    stores.remote("s3://lake/out/b.parquet")

    assert repr(stores) == "Stores(roots=['s3://lake/out', 's3://lake/out.blockread'])"
    assert stores._credentials["s3://lake/out"]["key"] == "key-of-lake"


def test_a_catalog_is_loaded_by_the_connection_of_its_table(
    place: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pages' environment asks for it when the table is looked at, as an undo does; one that is gone is named."""
    catalog = {"type": "sql", "uri": f"sqlite:///{tmp_path}/catalog.db"}
    monkeypatch.setenv("AIRFLOW_CONN_CAT", json.dumps({"conn_type": "generic", "extra": catalog}))
    env = airflow_site().ledgers["mine"]()
    option = IcebergSink("db.events", catalog_conn_id="cat", location=f"file://{tmp_path}/lake")

    assert env.ledger.uuid == place.uuid
    assert env.sink(option).is_empty()
    with pytest.raises(OptionsError, match="there is no connection 'gone'"):
        env.sink(replace(option, catalog_conn_id="gone")).is_empty()


def test_a_connection_that_is_gone_costs_only_its_own_feed(place: Ledger) -> None:
    """The places of the feed are opened without it, as places that no feed has."""
    _window(place, options=GenerationOptions(sink=ParquetSink("s3://lake/out", conn_id="gone")).to_json())
    stores = ConnectedStores(place)
    stores.remote("s3://lake/out/b.parquet")

    assert repr(stores) == "Stores(roots=[])"


def test_a_key_that_is_rotated_is_looked_up_again(place: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pages open a place with the key that its connection has now; one without change stays open."""
    key = {"conn_type": "aws", "login": "old-key", "password": "x"}
    monkeypatch.setenv("AIRFLOW_CONN_LAKE", json.dumps(key))
    monkeypatch.setattr(connected_stores, "_KEPT_S", 0.0)
    _window(place, options=GenerationOptions(sink=ParquetSink("s3://lake/out", conn_id="lake")).to_json())
    stores = ConnectedStores(place)
    before, _ = stores.remote("s3://lake/out/b.parquet")
    same, _ = stores.remote("s3://lake/out/b.parquet")
    monkeypatch.setenv("AIRFLOW_CONN_LAKE", json.dumps(key | {"login": "new-key"}))
    after, _ = stores.remote("s3://lake/out/b.parquet")

    assert same is before
    assert after is not before
    assert stores._credentials["s3://lake/out"]["key"] == "new-key"


def test_tasks_link_to_what_they_worked_on(place: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """The window's page where the pages show its ledger, the output on it, the application in the history server."""
    window = _window(place)
    claim = claim_group(
        place, GroupRef(window=window, generation=1, group=0), owner="me", clear_number=0, stale_after_s=STALE_S
    )
    record_submission(place, claim, spec_hash="x", application="application_17_0001")
    planned = {"window": window, "generation": 1, "status": "read"}
    read = ReadBlocksOperator(task_id="read", window=planned, group=0, ledger_conn_id="mine")
    commit = CommitWindowOperator(task_id="commit", window=planned, ledger_conn_id="mine")
    hidden = CommitWindowOperator(task_id="hidden", window=planned, ledger_conn_id="another")
    key: Any = None
    page = f"/blockread/ledgers/mine/windows/{window}"

    assert WindowLink().get_link(read, ti_key=key) == page
    assert OutputLink().get_link(commit, ti_key=key) == f"{page}#outputs"
    assert WindowLink().get_link(hidden, ti_key=key) == OutputLink().get_link(hidden, ti_key=key) == ""
    assert SparkLink().get_link(read, ti_key=key) == ""

    monkeypatch.setenv("AIRFLOW__BLOCKREAD__SPARK_HISTORY_URL", "https://history.example.org/")
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", "https://example.org/team")

    assert WindowLink().get_link(read, ti_key=key) == f"/team{page}"
    assert SparkLink().get_link(read, ti_key=key) == "https://history.example.org/history/application_17_0001/"


def test_a_mapped_read_that_ends_before_it_is_rendered_has_no_links(monkeypatch: pytest.MonkeyPatch) -> None:
    """Airflow then asks for the links of the mapped operator itself, which has no window."""
    monkeypatch.setenv("AIRFLOW__BLOCKREAD__SPARK_HISTORY_URL", "https://history.example.org/")
    read = ReadBlocksOperator.partial(task_id="read", window={}).expand(group=[0])

    assert [link.get_link(read, ti_key=None) for link in (WindowLink(), OutputLink(), SparkLink())] == [""] * 3
