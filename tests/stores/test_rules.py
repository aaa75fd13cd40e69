"""Rules of a source and paths from upstream on every store, and several stores and accounts in one feed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_blockread.errors import FileMissingError
from airflow_provider_blockread.observer import Observer
from airflow_provider_blockread.options import FileList, FileSource, GenerationOptions, Lines, ParquetSink
from airflow_provider_blockread.steps import Environment, PlanRequest, plan
from airflow_provider_blockread.storage import Stores
from airflow_provider_blockread.storage.listing.files import list_files
from airflow_provider_blockread.storage.listing.held_back import HeldBack
from airflow_provider_blockread.storage.listing.markers import Marked
from airflow_provider_blockread.storage.listing.paged import PagedListing
from airflow_provider_blockread.storage.listing.roots import SourceRoots
from airflow_provider_blockread.storage.listing.rules import NameRules
from airflow_provider_blockread.storage.listing.upstream import named_files, read_list
from tests.ledgers import open_ledger
from tests.servers.listed import pages
from tests.servers.putting import putter
from tests.servers.store import Store

NOW_S = 4e9
FILES = {
    "a.csv": 1, "a.csv.done": 1, "b.csv": 5, "Z.csv": 9, "Z.csv.done": 1, "_SUCCESS": 1,
    "2026/11/c.csv": 3, "2026/11/c.csv.done": 1, "2026/11/c.log": 3, "2026/d.csv": 3, "2026-x/e.csv": 3,
    "tmp/deep/er/f.csv": 3, "tmp/deep/er/f.csv.done": 1, "tmp/_SUCCESS": 1, "tmp/g.csv": 3,
}  # fmt: skip


@pytest.mark.parametrize(
    ("options", "taken", "held"),
    [
        ({"pattern": r"re:2026/.*\.(csv|log)"}, ["2026/11/c.csv", "2026/11/c.log", "2026/d.csv"], {}),
        ({"pattern": "*.csv", "exclude": ["re:tmp/.*", "2026/**"]}, ["2026-x/e.csv", "Z.csv", "a.csv", "b.csv"], {}),
        ({"pattern": "*.csv", "max_depth": 1}, ["Z.csv", "a.csv", "b.csv"], {}),
        ({"pattern": "*.csv", "max_depth": 2, "max_size": "4B"},
         ["2026-x/e.csv", "2026/d.csv", "a.csv", "tmp/g.csv"], {"too_large": 2}),
        ({"pattern": "*.csv", "done_marker": "{name}.done"},
         ["2026/11/c.csv", "Z.csv", "a.csv", "tmp/deep/er/f.csv"], {"unmarked": 4}),
        ({"pattern": "*.csv", "done_marker": "_SUCCESS"}, ["Z.csv", "a.csv", "b.csv", "tmp/g.csv"], {"unmarked": 4}),
        ({"min_age": 4e9, "max_depth": 1, "pattern": "b*"}, [], {"young": 1}),
    ],
)  # fmt: skip
def test_rules_hold_on_every_store(
    store: Store, options: dict[str, Any], taken: list[str], held: dict[str, int]
) -> None:
    """The same files are taken and held back by folder and flat, with pages of any size."""
    root = store.new_root()
    stores, put = store.stores(root), putter(store, root)
    for name, size in FILES.items():
        put(name, b"x" * size)
    source, counted = FileSource(root, **options), HeldBack()
    paths = [version.path for version in list_files(stores, source, now_s=NOW_S, held=counted)]

    assert (sorted(path.removeprefix(f"{root}/") for path in paths), counted.counts) == (taken, held)
    assert all(map(SourceRoots(source).may_list, paths))
    rules = NameRules(source)
    if rules.marker is not None:
        waiting: list[str] = []
        marked = Marked(rules.marker, stores.exists, waiting.append, most=2)
        again = [
            v.path.removeprefix(f"{root}/")
            for v in marked.of(PagedListing(root, pages(stores, root, 2), rules).files())
        ]
        assert (sorted(again), len(waiting)) == (taken, held["unmarked"])


def test_paths_from_upstream_are_looked_at_on_every_store(store: Store) -> None:
    """In the list's order, with the versions that a listing shows; one that is missing is named."""
    root = store.new_root()
    stores, put = store.stores(root), putter(store, root)
    names = [f"in/{number:03d} %2F#.csv" for number in range(80)]
    for name in names:
        put(name, name.encode())
    put("list.txt", "\n".join(f"{root}/{name}" for name in reversed(names)).encode())
    source = FileSource(f"{root}/in")
    listed = {version.path: version for version in list_files(stores, source, now_s=NOW_S)}
    found = list(named_files(stores, source, read_list(stores, FileList(f"{root}/list.txt"))))

    assert [version.path for version in found] == [f"{root}/{name}" for name in reversed(names)]
    assert found == [listed[version.path] for version in found]
    with pytest.raises(FileMissingError, match=f"{root}/in/none is named upstream, but does not exist"):
        list(named_files(stores, source, [found[0].path, f"{root}/in/none", found[1].path]))


@pytest.mark.airflow
def test_one_feed_reads_several_stores_and_accounts(
    ceph: Store, moto: Store, azurite: Store, sftp: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two S3 accounts at two endpoints, Azure, SFTP and a disk: each root is opened by its own connection."""
    from airflow_provider_blockread.hooks.stores import credentials_for

    roots, connections = [str(tmp_path / "in")], {}
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "disk.csv").write_bytes(b"disk\n")
    for store in (ceph, moto, azurite, sftp):
        root = store.new_root()
        putter(store, root)(f"{store.name}.csv", f"{store.name}\n".encode())
        monkeypatch.setenv(f"AIRFLOW_CONN_{store.name.upper()}", json.dumps(dict(store.connection)))
        connections[root] = store.name
        roots.append(root)
    source = FileSource(roots, conn_id=connections)
    ledger = open_ledger(f"sqlite:///{tmp_path}/ledger.db")
    env = Environment(ledger=ledger, stores=Stores(credentials_for(source, None)), observer=Observer())
    generation = GenerationOptions(sink=ParquetSink(str(tmp_path / "out")), record_format=Lines())
    asked = PlanRequest(feed="feed", key="w", source=source, generation=generation, owner="me")
    found = sorted(version.path.rpartition("/")[2] for version in list_files(env.stores, source, now_s=NOW_S))

    assert found == ["azurite.csv", "ceph.csv", "disk.csv", "moto.csv", "sftp.csv"]
    assert plan(env, asked).files == 5
    ledger.close()
