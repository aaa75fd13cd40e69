"""Listings of every store: the same names with pages of any size, and the same versions as by stat."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from azure.storage.blob import BlobServiceClient

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.errors import OptionsError, SourceError
from airflow_provider_blockread.options import FileSource
from airflow_provider_blockread.storage import Stores
from airflow_provider_blockread.storage.listing.files import list_files
from airflow_provider_blockread.storage.listing.paged import PagedListing
from airflow_provider_blockread.storage.listing.rules import NameRules
from airflow_provider_blockread.storage.listing.upstream import named_files
from tests.servers.listed import pages
from tests.servers.putting import putter
from tests.servers.store import Store

NOW_S = 4e9
#: Names that each store and its client distinguish from others.
EVERYWHERE = [
    "plain", "sp ace", "h#ash", "per%cent", "per%20cent", "e=q", "pl+us", "ünï/é", "日本", "amp&<x>", "a:b", "~t",
    "'q\"", "\U0001f600", "deep/er/x", "deep/er-y", "deep/er.z", "g#123", "[x]*", "s3:::y",
]  # fmt: skip
#: Names that are not addressed by some client, by the stores that take them.
UNADDRESSED = {
    "ceph": ["./dot", "a/./b", "a/../b", "full/", "trail//", "v?versionId=3"],
    "moto": ["./dot", "a/./b", "a/../b", "full/", "trail//", "v?versionId=3"],
    "azurite": ["full/", "trail//", "new\nline", "tab\tx", "cr\rx"],
    "gcs": ["./dot", "a/./b", "full/", "trail//"],
    "sftp": [],
}
#: Names that only some stores take, or can list.
SOMEWHERE = {
    "ceph": ["x//y", "/lead", "//lead", "q?x", "back\\slash", "new\nline", "tab\tx", "cr\rx", "ctl\x01x"],
    "moto": ["x//y", "/lead", "//lead", "q?x", "back\\slash", "tab\tx", "cr\rx", "ctl\x01x"],
    "azurite": ["x//y", "/lead", "//lead", "q?x"],
    "gcs": ["x//y", "/lead", "//lead", "q?x", "back\\slash", "new\nline", "tab\tx", "cr\rx", "ctl\x01x"],
    "sftp": ["q?x", "back\\slash", "new\nline", "tab\tx", "cr\rx", "ctl\x01x", "x/y?z/w"],
}


@pytest.mark.parametrize("inner", ["", "/in here"])
def test_every_name_is_listed_as_looking_at_it_tells(store: Store, inner: str) -> None:
    """Each name is listed once, flat or by folder, with pages of any size, with the same version as by stat."""
    bucket = store.new_root()
    root, stores = bucket + inner, store.stores(bucket)
    put = putter(store, bucket)
    names = EVERYWHERE + SOMEWHERE[store.name]
    for number, name in enumerate(names):
        put(f"{inner[1:]}/{name}" if inner else name, b"x" * (number % 7 + 1))
    seen = {f"{root}/{name}": stores.stat(f"{root}/{name}") for name in names}

    for exclude in ((), "nothing/**"):
        rules = NameRules(FileSource(root, hidden=True, exclude=exclude))
        for size in (2, 5000):
            listed = list(PagedListing(root, pages(stores, root, size), rules).files())

            assert {version.path: version for version in listed} == seen
            assert len(listed) == len(seen)
            if size == 2:
                first = listed
            assert listed == first


def test_a_name_that_the_client_takes_for_another_is_an_error(store: Store) -> None:
    """A file that cannot be read under its name fails the listing, unless a pattern excludes it."""
    bucket = store.new_root()
    stores, put = store.stores(bucket), putter(store, bucket)
    for number, name in enumerate(UNADDRESSED[store.name]):
        root = f"{bucket}/{number}"
        put(f"{number}/plain", b"x")
        put(f"{number}/{name}", b"x")
        walk = PagedListing(root, pages(stores, root, 3), NameRules(FileSource(root, hidden=True)))
        with pytest.raises(SourceError, match="takes this for another name"):
            list(walk.files())
        only = PagedListing(root, pages(stores, root, 3), NameRules(FileSource(root, pattern="/plain")))

        assert [version.path for version in only.files()] == [f"{root}/plain"]


@pytest.mark.parametrize("name", ["moto", "azurite"])
def test_so_is_one_that_is_a_root_or_named_upstream(request: pytest.FixtureRequest, name: str) -> None:
    """The client would read another key instead, at the version that the name seems to say."""
    store: Store = request.getfixturevalue(name)
    bucket, odd = store.new_root(), "v?versionId=3" if name == "moto" else "v?versionid=3"
    stores, put = store.stores(bucket), putter(store, bucket)
    put("in/v", b"another")
    uri = f"{bucket}/in/{odd}"
    calls: list[Callable[[], object]] = [
        lambda: list(list_files(stores, FileSource(uri), now_s=4e9)),
        lambda: list(named_files(stores, FileSource(bucket), [uri])),
        lambda: stores.stat(uri),
        lambda: stores.open_read(uri),
        lambda: stores.pinned(FileVersion(uri, 7, 0, "1")),
        lambda: stores.remove(uri),
    ]
    for call in calls:
        with pytest.raises(SourceError, match="takes this for another name"):
            call()

    assert stores.read_bytes(f"{bucket}/in/v") == b"another"


TREE = [
    "1.csv", "2.txt", "_hidden/1.csv", ".x/1.csv", "raw/1.csv", "raw/2024/1.csv", "raw/2024/2.txt", "raw/2025/a/1.csv",
    "old/1.csv", "old/2024/1.csv", "raw-1.csv", "raw.csv", "tmp.tmp/1.csv", "raw/2024/3.tmp",
]  # fmt: skip


def test_patterns_mean_the_same_everywhere(store: Store) -> None:
    """Whether folders are skipped or filtered, a listing has the names that the rules take."""
    root = store.new_root()
    stores, put = store.stores(root), putter(store, root)
    for name in TREE:
        put(name, name.encode())
    for options in (
        {},
        {"pattern": "*.csv"},
        {"pattern": "raw/**"},
        {"pattern": ["/raw/2024/", "old/*.csv"]},
        {"pattern": "*/*/*.csv"},
        {"exclude": "old/"},
        {"exclude": ["/raw/2024/", "*.txt"], "hidden": True},
        {"recursive": False},
        {"exclude": "**"},
    ):
        source = FileSource(root, **options)  # type: ignore[arg-type]
        for size in (2, 1000):
            walk = PagedListing(root, pages(stores, root, size), NameRules(source))
            listed = [version.path.removeprefix(f"{root}/") for version in walk.files()]

            assert sorted(listed) == sorted(filter(NameRules(source).matches, TREE)), options


@pytest.mark.parametrize("store", ["ceph", "moto", "azurite"], indirect=True)  # the others take no such name
def test_marks_of_folders_are_no_files(store: Store) -> None:
    """Empty objects whose names end with `/` are folders, as the consoles of object stores create them."""
    root = store.new_root()
    put = putter(store, root)
    for name in ("in/", "in/a/", "in/a/x"):
        put(name, b"x" if name.endswith("x") else b"")
    for exclude in ((), "nothing/**"):
        source = FileSource(f"{root}/in", exclude=exclude)

        assert [v.path for v in list_files(store.stores(root), source, now_s=NOW_S)] == [f"{root}/in/a/x"]


@pytest.mark.parametrize("store", ["ceph", "moto", "azurite"], indirect=True)  # the other emulator takes none empty
def test_an_empty_object_of_the_folder_s_own_name_hides_no_file(store: Store) -> None:
    """It is a file while nothing is below it, unless its name ends with a slash."""
    root = store.new_root()
    put = putter(store, root)
    put("in", b"")
    assert listed(store, root, "in") == ["in"]
    assert listed(store, root, "in/") == []
    put("in/a.csv", b"one")
    assert listed(store, root, "in") == listed(store, root, "in/") == ["in/a.csv"]


@pytest.mark.parametrize("store", ["ceph", "moto", "azurite", "gcs"], indirect=True)
def test_a_root_may_be_a_file_and_a_folder(store: Store) -> None:
    """An object with content is a file besides those below it; a root with a slash excludes that file."""
    root = store.new_root()
    put = putter(store, root)
    put("in", b"zero")
    with pytest.raises(SourceError, match="/in/ does not exist"):
        listed(store, root, "in/")
    for name in ("in/a.csv", "in-between"):
        put(name, b"one")

    assert listed(store, root, "in") == listed(store, root, "in", "in/", "in/a.csv") == ["in", "in/a.csv"]
    assert listed(store, root, "in/") == ["in/a.csv"]
    assert listed(store, root, "in/a.csv", "in") == ["in/a.csv", "in"]
    with pytest.raises(OptionsError, match="without a name"):
        listed(store, root, "in//")


def listed(store: Store, root: str, *names: str) -> list[str]:
    """Return the names below a root that a source with these roots in it lists."""
    source = FileSource([f"{root}/{name}" for name in names])
    found = list_files(store.stores(root), source, now_s=NOW_S)
    return [version.path.removeprefix(f"{root}/") for version in found]


def test_a_place_under_two_names_is_listed_once(sftp: Store) -> None:
    """From the first root that contains it, with the path as written there."""
    root = sftp.new_root()
    other = root.replace("sftp://", "ssh://")
    stores = Stores({root: dict(sftp.options), other: dict(sftp.options)})
    for name in ("in/a.csv", "in/sub/b.csv"):
        putter(sftp, root)(name, b"x")
    found = list_files(stores, FileSource([f"{other}/in/sub", f"{root}/in", f"{other}/in"]), now_s=NOW_S)

    assert [version.path for version in found] == [f"{other}/in/sub/b.csv", f"{root}/in/a.csv"]


@pytest.mark.parametrize("sign", ["hdi_isfolder", "Hdi_isfolder"])
def test_a_blob_that_stands_for_a_folder_is_no_file_whatever_its_sign_s_case(azurite: Store, sign: str) -> None:
    """Alone, or with files below it."""
    root = azurite.new_root()
    account = BlobServiceClient.from_connection_string(str(azurite.options["connection_string"]))
    container = account.get_container_client(root.partition("://")[2])
    container.upload_blob("in", b"", metadata={sign: "True" if sign[0] == "H" else "true"})
    for uri in (f"{root}/in", f"{root}/in/"):
        assert list(list_files(azurite.stores(root), FileSource(uri), now_s=NOW_S)) == []
    container.upload_blob("in/x", b"x")
    for uri in (f"{root}/in", f"{root}/in/"):
        source = FileSource(uri)

        assert [v.path for v in list_files(azurite.stores(root), source, now_s=NOW_S)] == [f"{root}/in/x"]


def test_a_root_may_be_one_file_and_must_be_there(store: Store) -> None:
    """A root that names a file is that file; a missing one, or a missing bucket, is an error."""
    root = store.new_root()
    putter(store, root)("in/x", b"x")

    assert [v.path for v in list_files(store.stores(root), FileSource(f"{root}/in/x"), now_s=NOW_S)] == [f"{root}/in/x"]
    for missing in (f"{root}/none", f"{root}-none", f"{root}-none/in"):
        with pytest.raises(SourceError, match="does not exist") as caught:
            list(list_files(store.stores(missing), FileSource(missing), now_s=NOW_S))
        assert missing in str(caught.value)
