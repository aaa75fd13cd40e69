"""Published files are archived, deleted, tagged and restored in real stores."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fsspec.asyn import sync

from airflow_provider_blockread.errors import CleanedError, FileMissingError, OptionsError, SourceError
from airflow_provider_blockread.ledger.windows.queries import get_window
from airflow_provider_blockread.options import FileSource
from airflow_provider_blockread.steps import PlanRequest
from airflow_provider_blockread.steps.plan.cleaned import restore_files
from airflow_provider_blockread.steps.upkeep.cleaning import Cleaned, clean, propose_cleaning
from airflow_provider_blockread.steps.upkeep.cleaning_scope import CleanRequest
from airflow_provider_blockread.storage.ranges import REQUESTS
from airflow_provider_blockread.storage.stores import Stores
from tests.pipeline.make import Pipe, ReadHere
from tests.servers.proxies import Slow, running
from tests.servers.store import Store

_FILES = {"a.txt": b"a1\na2\n", "sub/b =#%.txt": b"b1\n"}


@dataclass
class _Landing(Pipe):
    """A feed of a store's files, published ten days ago; the output is local."""

    root: str = ""

    def request(self, key: str, clear_number: int = 0) -> PlanRequest:
        """Return what to plan."""
        found = super().request(key, clear_number)
        return dataclasses.replace(found, source=FileSource(self.root))

    def clean(self, action: str, archive: str | None = None) -> Cleaned:
        """Clean published files."""
        asked = CleanRequest(
            feed=self.feed, source=FileSource(self.root), action=action, archive=archive, grace=7 * 86_400.0
        )
        propose_cleaning(self.env, asked)
        return clean(self.env, asked, who="me")

    def there(self, folder: str) -> list[str]:
        """Return the remaining source files."""
        return [name for name in _FILES if self.env.stores.exists(f"{folder}/{name}")]


def _landing(folder: Path, stores: Stores, root: str) -> _Landing:
    pipe = _Landing(folder=folder, submitter=ReadHere(stores), root=root)
    pipe.env = dataclasses.replace(pipe.env, stores=stores)
    for name, data in _FILES.items():
        stores.write_bytes_atomic(f"{root}/{name}", data)
    assert pipe.run().records == 3
    pipe.pass_seconds(10 * 86_400)
    return pipe


@pytest.fixture
def landing(tmp_path: Path, store: Store) -> Iterator[_Landing]:
    """The feed in each store in turn."""
    root = store.new_root()
    pipe = _landing(tmp_path, store.stores(root), f"{root}/in")
    yield pipe
    pipe.close()


def test_files_are_archived_and_come_back(landing: _Landing) -> None:
    """They keep their paths; a clear is refused while they are archived, and reads them once they are restored."""
    archive = f"{landing.root}-archive"
    done = landing.clean("archive", archive)

    assert (done.files, done.bytes, done.left) == (2, 9, {})
    assert (landing.there(landing.root), landing.there(archive)) == ([], list(_FILES))
    assert landing.clean("archive", archive).files == 0
    with pytest.raises(CleanedError, match="2 of its files were cleaned"):
        landing.run(clear_number=1)
    assert landing.env.stores.read_bytes(f"{archive}/a.txt") == _FILES["a.txt"]

    window = get_window(landing.env.ledger, "w", landing.feed)
    if landing.root.startswith(("gs:", "abfs:")):
        with pytest.raises(SourceError, match="every copy a new version"):
            restore_files(landing.env, window)
        assert (landing.there(landing.root), landing.there(archive)) == ([], list(_FILES))
        return
    assert restore_files(landing.env, window).files == 2
    assert landing.there(landing.root) == list(_FILES)
    assert landing.run("next").status == "empty"
    assert landing.run(clear_number=1).records == 3


@pytest.mark.parametrize("store", ["moto"], indirect=True)
def test_a_source_whose_last_file_was_archived_is_empty(landing: _Landing) -> None:
    """Such stores have no empty folders; a root that the feed has never listed is an error at each try."""
    landing.clean("archive", f"{landing.root}-archive")
    assert [landing.run(key).status for key in ("next", "after that")] == ["empty", "empty"]
    landing.env.stores.write_bytes_atomic(f"{landing.root}/c.txt", b"c1\n")
    assert landing.run("later").records == 1

    landing.root += "-mistyped"
    for key in ("mistyped", "mistyped again"):
        with pytest.raises(FileMissingError, match="does not exist; correct its path"):
            landing.run(key)


@pytest.mark.parametrize("action", ["archive", "delete"])
def test_many_files_are_handled_at_once(tmp_path: Path, moto: Store, action: str) -> None:
    """Also where something has a file's place in the archive: both are there afterwards."""
    root = moto.new_root()
    with running(Slow(moto.port, seconds=0.02)) as proxy:
        pipe = _landing(tmp_path, moto.behind(root, proxy.port), f"{root}/in")
        pipe.root = f"{root}/more"
        names = [f"{number}.txt" for number in range(12)]
        for folder in ("one", "two"):
            for name in names:
                pipe.env.stores.write_bytes_atomic(f"{root}/more/{folder}/{name}", f"{folder}\n".encode())
        assert pipe.run("more").files == 24
        pipe.pass_seconds(10 * 86_400)
        archive = f"{root}/archive" if action == "archive" else None
        pipe.env.stores.write_bytes_atomic(f"{root}/archive/0.txt", b"here before\n")
        source = FileSource([f"{root}/more/one", f"{root}/more/two"])
        asked = CleanRequest(feed=pipe.feed, source=source, action=action, archive=archive, grace=0)
        proxy.most = 0
        done = clean(pipe.env, asked, who="me")

        assert (done.files, done.left) == (24, {"outside": 2})
        assert 2 < proxy.most <= REQUESTS
        stores = pipe.env.stores
        kept = [uri for uri, _ in stores.list_names(f"{root}/archive")]
        moved = [b"one\n"] * len(names) + [b"two\n"] * len(names)
        expected = [b"here before\n", *(moved if archive else [])]
        assert sorted(stores.read_bytes(uri) for uri in kept) == expected
        assert archive is None or {f"{archive}/{name}" for name in names} <= set(kept)
        assert list(stores.list_names(f"{root}/more/one")) == []
        pipe.close()


def test_done_markers_are_asked_for_at_once(tmp_path: Path, moto: Store) -> None:
    """A file without its marker stays."""
    root = moto.new_root()
    with running(Slow(moto.port, seconds=0.02)) as proxy:
        pipe = _landing(tmp_path, moto.behind(root, proxy.port), f"{root}/in")
        pipe.root = f"{root}/more"
        for number in range(12):
            pipe.env.stores.write_bytes_atomic(f"{root}/more/{number}.txt", b"x\n")
        pipe.run("more")
        pipe.pass_seconds(10 * 86_400)
        source = FileSource(pipe.root, done_marker="{name}.done")
        asked = CleanRequest(feed=pipe.feed, source=source, action="delete", grace=0)
        proxy.most = 0

        assert clean(pipe.env, asked, who="me").left == {"outside": 2, "unmarked": 12}
        assert 2 < proxy.most <= REQUESTS
        pipe.env.stores.write_bytes_atomic(f"{root}/more/7.txt.done", b"")
        assert clean(pipe.env, asked, who="me").files == 1
        pipe.close()


@pytest.mark.parametrize("store", ["moto"], indirect=True)
def test_files_are_deleted_unless_they_changed(landing: _Landing) -> None:
    """An overwritten file is not changed."""
    landing.env.stores.write_bytes_atomic(f"{landing.root}/a.txt", b"corrected\n")
    done = landing.clean("delete")

    assert (done.files, done.left) == (1, {"changed": 1})
    assert landing.there(landing.root) == ["a.txt"]


def test_another_version_is_not_taken_away(store: Store) -> None:
    """The store compares versions, or the file is renamed and checked; Ceph and the Google emulator do not compare."""
    root = store.new_root()
    stores, uri = store.stores(root), f"{root}/in/a =#%.txt"
    stores.write_bytes_atomic(uri, b"one\n")
    old = stores.stat(uri)
    compares = store.name in {"moto", "azurite", "sftp"}
    if compares:
        stores.write_bytes_atomic(uri, b"second\n")
        assert not stores.delete_version(old)
        assert stores.read_bytes(uri) == b"second\n"
    assert stores.delete_version(stores.stat(uri))
    assert list(stores.list_names(f"{root}/in")) == []
    with pytest.raises(FileMissingError) if store.name in {"moto", "sftp", "gcs"} else nullcontext():
        stores.delete_version(old)
    assert stores.finish_delete(old) is None


def test_google_is_told_which_generation_is_meant(gcs: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The request is conditional, and a refusal means that the target exists."""
    root = gcs.new_root()
    stores, uri = gcs.stores(root), f"{root}/a.txt"
    stores.write_bytes_atomic(uri, b"one\n")
    version, asked = stores.stat(uri), list[Any]()

    async def refused(_: object, *request: Any, **options: Any) -> None:
        asked.append((request, options))
        raise FileExistsError  # as gcsfs does for 412

    monkeypatch.setattr(type(stores.remote(uri)[0].system), "_call", refused)
    assert not stores.delete_version(version)
    bucket = root.removeprefix("gs://")
    assert asked == [(("DELETE", "b/{}/o/{}", bucket, "a.txt"), {"ifGenerationMatch": version.etag})]


@pytest.mark.parametrize("store", ["ceph", "moto", "azurite", "gcs"], indirect=True)
def test_tags(landing: _Landing) -> None:
    """They are added to existing ones, and the version stays the same; Google refuses."""
    if landing.root.startswith("gs:"):
        with pytest.raises(OptionsError, match="tags cannot be set there"):
            landing.clean("tag")
        return
    stores, uri = landing.env.stores, f"{landing.root}/a.txt"
    stores.tag(uri, {"of": "mine", "blockread": "no"})

    assert landing.clean("tag").files == 2
    assert _tags(stores, uri) == {"of": "mine", "blockread": "published"}
    assert _tags(stores, f"{landing.root}/sub/b =#%.txt") == {"blockread": "published"}
    assert landing.clean("tag").files == 0
    assert landing.run(clear_number=1).records == 3
    landing.pass_seconds(10 * 86_400)
    assert landing.clean("delete").files == 2


def _tags(stores: Stores, uri: str) -> dict[str, str]:
    store, path = stores.remote(uri)
    system = store.system
    if not uri.startswith("abfs:"):
        return dict(system.get_tags(path))
    client = system.service_client.get_blob_client(*path.split("/", 1))
    return dict(sync(system.loop, client.get_blob_tags))


@pytest.mark.parametrize("store", ["azurite"], indirect=True)
def test_a_blob_that_is_gone_or_takes_no_tags(landing: _Landing) -> None:
    """The error names it; a blob has ten tags at most."""
    stores, uri = landing.env.stores, f"{landing.root}/a.txt"
    with pytest.raises(FileMissingError, match=uri):
        stores.tag(f"{uri}.gone", {"of": "mine"})
    with pytest.raises(SourceError, match=f"{uri}: the store refuses this request"):
        stores.tag(uri, {f"tag{number}": "x" for number in range(11)})
    assert _tags(stores, uri) == {}


def test_an_archive_of_its_own(tmp_path: Path, moto: Store) -> None:
    """It may be another bucket of the same store."""
    root, archive = moto.new_root(), moto.new_root()
    pipe = _landing(tmp_path, Stores({root: moto.options, archive: moto.options}), root)
    assert pipe.clean("archive", archive).files == 2
    assert pipe.there(archive) == list(_FILES)
    pipe.close()


def test_in_memory(tmp_path: Path) -> None:
    """A store whose copies have other times archives too; the command says that a restored file is another version."""
    pipe = _landing(tmp_path, Stores(), "memory://cleaning/in")
    with pytest.raises(OptionsError, match="source's own listing"):
        pipe.clean("archive", "memory://cleaning/in/kept")
    assert pipe.clean("archive", "memory://cleaning/kept").files == 2
    with pytest.raises(SourceError, match="every copy a new version"):
        restore_files(pipe.env, get_window(pipe.env.ledger, "w", pipe.feed))
    pipe.close()
