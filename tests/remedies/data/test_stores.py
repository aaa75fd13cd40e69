"""Stores that fail or refuse: once they are put right as the message says, the same call succeeds."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from airflow_provider_blockread.errors import BlockReadError, OptionsError, SourceError, TransientError
from airflow_provider_blockread.options import Bounds, FileSource, ParquetSink
from airflow_provider_blockread.storage import Stores
from airflow_provider_blockread.storage.backends.disk import LocalDisk
from airflow_provider_blockread.storage.listing.files import list_files
from airflow_provider_blockread.storage.versions import open_version
from tests.remedies.data.desk import Desk
from tests.servers.lister import error, lister, well

KEYS = ["in/a.csv", "in/b.csv"]


def listed(stores: Stores, root: str) -> list[str]:
    """Return the paths of a listing."""
    return [version.path for version in list_files(stores, FileSource(root), now_s=4e9)]


@pytest.mark.parametrize(
    ("status", "code", "says"),
    [
        (403, "AccessDenied", "give the account that runs this (or its connection) access; renew its key"),
        (400, "ExpiredToken", "try again, with new ones if they are written in the connection"),
        (400, "InvalidToken", "renew them in the connection, then retry"),
        (403, "InvalidObjectState", "the object is archived (InvalidObjectState); restore it in its store"),
        (400, "Nonsense", "correct the path or the connection, then retry"),
        (503, "SlowDown", "try again later, with fewer requests at once"),
        (500, "InternalError", "try again when it is back"),
    ],
    ids=["denied", "expired", "unaccepted", "archived", "refused", "throttled", "failed"],
)
def test_a_store_that_refused_is_read_once_it_does_not(
    status: int, code: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store of S3's answers, which lets one in again, as after each remedy."""
    monkeypatch.setattr("random.uniform", lambda *_: 0.0)
    with lister(KEYS) as server:
        stores = Stores({"s3://b": server.options})
        server.respond = lambda *_: error(status, code)
        with pytest.raises(BlockReadError) as raised:
            listed(stores, "s3://b/in/") if status < 500 else list(stores.list_names("s3://b/in"))
        assert says in str(raised.value)

        server.respond = well
        assert [uri for uri, _ in stores.list_names("s3://b/in")] == [f"s3://b/{key}" for key in KEYS]


def test_a_store_without_credentials_is_opened_by_a_connection(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where the host has no identity of its own."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with pytest.raises(SourceError, match=r"no credentials are found .*; name a connection \(conn_id\)"):
        listed(Stores(), "s3://b/in/")

    with lister(KEYS) as server:
        assert len(listed(Stores({"s3://b": server.options}), "s3://b/in/")) == 2


def test_a_listing_that_fails_again_and_again_goes_on_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """After its tries, and where the store repeats a page: the next listing is whole."""
    monkeypatch.setattr("random.uniform", lambda *_: 0.0)
    with lister([f"in/{number:04}" for number in range(2500)]) as server:
        stores = Stores({"s3://b": server.options})
        server.respond = lambda *_: error(500, "InternalError")
        with pytest.raises(TransientError, match=r"try again when it is back \(tried 6 times\)"):
            listed(stores, "s3://b/in/")
        server.respond = lambda server, query, _body: (200, server.page({**query, "continuation-token": "1000"}))
        with pytest.raises(TransientError, match="returns the same page repeatedly; try again"):
            listed(stores, "s3://b/in/")

        server.respond = well
        assert len(listed(stores, "s3://b/in/")) == 2500


def test_a_root_with_a_name_is_listed() -> None:
    """The one above the folder without a name, as the message says."""
    with lister(KEYS) as server:
        stores = Stores({"s3://b": server.options})
        with pytest.raises(OptionsError) as raised:
            listed(stores, "s3://b/in//")
        above = str(raised.value).rpartition("name the one above it, ")[2]

        assert listed(stores, above) == [f"s3://b/{key}" for key in KEYS]


def test_a_name_that_the_client_takes_for_another_is_renamed_or_excluded() -> None:
    """Both remedies."""
    with lister(["in/../x.csv", *KEYS]) as server:
        stores = Stores({"s3://b": server.options})
        with pytest.raises(SourceError, match="so it cannot be read; rename or exclude it"):
            list(list_files(stores, FileSource("s3://b", hidden=True), now_s=4e9))

        without = FileSource("s3://b", hidden=True, exclude="x.csv")
        assert len(list(list_files(stores, without, now_s=4e9))) == 2
    with lister(["in/x.csv", *KEYS]) as server:
        assert len(listed(Stores({"s3://b": server.options}), "s3://b")) == 3


def test_a_file_whose_answers_tell_no_version_is_read_elsewhere(tmp_path: Path) -> None:
    """Copied to a store that reports them, as the message says."""
    with lister([]) as server:
        server.sizes["x"] = 7
        stores = Stores({"s3://b": server.options})
        with (
            open_version(stores, stores.stat("s3://b/x"), Bounds()) as file,
            pytest.raises(SourceError, match="; copy the file to a store that does"),
        ):
            file.read(1)
    (tmp_path / "x").write_bytes(bytes(7))

    with open_version(stores, stores.stat(str(tmp_path / "x")), Bounds()) as file:
        assert file.read(7) == bytes(7)


def test_options_that_do_not_fit_are_corrected() -> None:
    """As the message says of a connection's."""
    with pytest.raises(OptionsError, match="its connection's options do not fit; correct them"):
        Stores({"abfs://c": {"connection_string": "nonsense"}}).remote("abfs://c/x")
    account = "DefaultEndpointsProtocol=http;AccountName=one;AccountKey=Zm9v;BlobEndpoint=http://127.0.0.1:1/one;"

    assert Stores({"abfs://c": {"connection_string": account}}).remote("abfs://c/x")


def test_an_account_of_azure_is_named_in_the_address_or_by_a_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without one there is no address to ask; the key comes from the identity of the host, or the connection."""
    for name in ("AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_CONNECTION_STRING"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(OptionsError, match=r"write abfs://container@account.* or name a connection \(conn_id\)"):
        Stores().remote("abfs://c/x")

    assert Stores().remote("abfs://c@account.dfs.core.windows.net/x")
    assert Stores({"abfs://c": {"account_name": "account"}}).remote("abfs://c/x")


def test_a_place_without_a_password_is_opened_by_its_connection() -> None:
    """The address in the source, what opens it in the connection."""
    with lister(KEYS) as server:
        with pytest.raises(OptionsError, match=r"contains a password.*; put it into a connection instead"):
            listed(Stores(), "s3://KEY:SECRET-OF-TESTS@b/in/")

        assert len(listed(Stores({"s3://b": server.options}), "s3://b/in/")) == 2


@pytest.mark.parametrize(
    ("code", "kind", "says"),
    [
        (errno.ENOSPC, TransientError, "the store is full .*; free space there, then retry"),
        (errno.EIO, TransientError, "the store failed .*; try again when it is back"),
        (errno.EACCES, SourceError, "access denied; give the account that runs this .* access, then retry"),
    ],
)
def test_a_disk_that_failed_is_written_once_it_does_not(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: int, kind: type[BlockReadError], says: str
) -> None:
    """By the same call again."""

    def fails(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patch:
        patch.setattr(LocalDisk, "write_bytes", fails)
        with pytest.raises(kind, match=says):
            Stores().write_bytes_atomic(str(tmp_path / "x"), b"1")
    Stores().write_bytes_atomic(str(tmp_path / "x"), b"1")

    assert (tmp_path / "x").read_bytes() == b"1"


def test_a_file_that_is_gone_is_restored_or_excluded(desk: Desk) -> None:
    """Both remedies, in the window that holds it."""
    desk.put({"a.txt": b"x\n", "b.gz": b"no gzip"})
    desk.fails()
    (desk.source / "a.txt").rename(desk.folder / "kept")
    assert (
        "a.txt does not exist; restore it, or exclude it from its window (`blockread windows exclude " in desk.fails()
    )
    (desk.folder / "kept").rename(desk.source / "a.txt")
    assert len(desk.runs("--format-option", "compression=none")) == 2

    desk.put({"c.txt": b"y\n", "d.gz": b"no gzip"})
    desk.fails()
    (desk.source / "c.txt").unlink()
    message = desk.fails()
    assert "c.txt does not exist" in message
    desk.exclude(message)
    assert len(desk.runs("--format-option", "compression=none")) == 3


def test_a_folder_that_vanished_is_listed_the_next_time(tmp_path: Path) -> None:
    """Without it, once it is gone for good."""
    for name in ("a/1", "b/2"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("x")
    files = list_files(Stores(), FileSource(str(tmp_path)), now_s=4e9)
    next(files)
    (tmp_path / "b" / "2").unlink()
    (tmp_path / "b").rmdir()
    with pytest.raises(TransientError, match="vanished while it was being listed; try again"):
        next(files)

    assert listed(Stores(), str(tmp_path)) == [f"file://{tmp_path}/a/1"]


def test_a_file_that_may_be_renamed_is_taken_away(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where a store renames nothing and says nothing, until the account may."""
    (tmp_path / "a.txt").write_text("x")
    version = Stores().stat(str(tmp_path / "a.txt"))
    with monkeypatch.context() as patch:
        patch.setattr(LocalDisk, "rename", lambda *_: None)
        with pytest.raises(SourceError, match="let the account rename files there, then repeat"):
            Stores().delete_version(version)
    assert Stores().delete_version(version)

    assert not (tmp_path / "a.txt").exists()


def test_a_file_that_was_replaced_twice_is_brought_to_a_name_that_is_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """By the name beside it that the message shows; then the call is repeated."""
    path = tmp_path / "a.txt"
    path.write_text("one")
    version = Stores().stat(str(path))
    path.write_text("second")
    rename = LocalDisk.rename

    def late(disk: LocalDisk, source: str, target: str) -> None:
        rename(disk, source, target)
        path.write_text("and third")

    with monkeypatch.context() as patch:
        patch.setattr(LocalDisk, "rename", late)
        with pytest.raises(SourceError, match="replaced twice") as raised:
            Stores().delete_version(version)
    aside = str(raised.value).partition("beside it as ")[2].partition(":")[0]
    Path(aside).rename(tmp_path / "b.txt")

    assert Stores().finish_delete(version) is None
    assert [Path(name.removeprefix("file://")).read_text() for name in listed(Stores(), str(tmp_path))] == [
        "and third",
        "second",
    ]


def test_a_file_is_put_in_its_own_store(tmp_path: Path) -> None:
    """A place in the same one, where nothing is, as the messages say."""
    (tmp_path / "a.txt").write_text("x")
    with pytest.raises(SourceError, match="which is another store; choose a place in the same one"):
        Stores().place(str(tmp_path / "a.txt"), "memory://elsewhere/a.txt")
    with pytest.raises(SourceError, match="choose a work area in the store of the output"):
        Stores().move(str(tmp_path / "a.txt"), "memory://elsewhere/a.txt", size=1)

    (tmp_path / "b.txt").write_text("another")
    with pytest.raises(SourceError, match="a file of this name is there and is not overwritten; move it away"):
        Stores().place(str(tmp_path / "a.txt"), str(tmp_path / "b.txt"))
    (tmp_path / "b.txt").rename(tmp_path / "away.txt")
    Stores().place(str(tmp_path / "a.txt"), str(tmp_path / "b.txt"))
    Stores().move(str(tmp_path / "b.txt"), str(tmp_path / "c.txt"), size=1)
    assert (tmp_path / "c.txt").read_text() == "x"
    assert ParquetSink(str(tmp_path / "out")).work_area == f"{tmp_path}/out.blockread"
