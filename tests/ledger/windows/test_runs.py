"""What a ledger knows of Airflow's runs: which windows one planned or read."""

from __future__ import annotations

from dataclasses import replace

from airflow_provider_blockread.ledger.files.discovery import record_files
from airflow_provider_blockread.ledger.overview.runs import last_published, windows_of_run
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.windows.generations import start_generation
from airflow_provider_blockread.ledger.windows.planning import claim_window
from tests.ledger.clock import Clock
from tests.ledger.make import FEED, freeze_window, open_window, pending, plan, publish, version

LOOKS = "looks.only/scheduled__2026-01-01T00:00:00+00:00"


def test_the_windows_of_a_run(ledger: Ledger) -> None:
    """Those that it planned, with or without files, and those that it reads again."""
    record_files(ledger, FEED, [version("a")], complete=False)
    planned = freeze_window(ledger, replace(plan("k1", files=1), run="load/manual__1"), pending(ledger))
    with claim_window(ledger, FEED, "k3", owner="x", run=LOOKS):
        pass
    publish(ledger, by_hand := open_window(ledger, "k4", ["z"]))
    options = {"delimiter": ";"}
    start_generation(ledger, by_hand.id, options=options, mode="write", clear_number=0, run="load/manual__1")

    assert [found.window.key for found in windows_of_run(ledger, "load/manual__1")] == [planned.key, "k4"]
    assert [found.progress.state for found in windows_of_run(ledger, LOOKS)] == ["empty"]
    assert windows_of_run(ledger, "load/manual__2") == []


def test_a_rebuild_brings_nothing_new(ledger: Ledger, clock: Clock) -> None:
    """A run without files says since when: since its feed's newest published window, however late others follow."""
    publish(ledger, old := open_window(ledger, "k1", ["a"]))
    clock.pass_seconds(60)
    publish(ledger, open_window(ledger, "k2", ["b"]))
    at = ledger.now()
    clock.pass_seconds(60)
    start_generation(ledger, old.id, options={}, mode="write", clear_number=0)
    publish(ledger, old, 2)
    publish(ledger, open_window(ledger, "k1", ["z"], feed="other"))
    open_window(ledger, "k3", ["c"])

    assert last_published(ledger, 1) == at
