"""Files moved to a new place: complete, with their times, and never over another file."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_blockread.errors import FileMissingError, SourceError
from airflow_provider_blockread.options import FileSource
from airflow_provider_blockread.storage.contents import same_content
from airflow_provider_blockread.storage.listing.roots import SourceRoots
from airflow_provider_blockread.storage.stores import Stores
from tests.disks import another_disk

_NAMES = st.lists(st.sampled_from(["a", "b c", "#", "%41", "=", "é"]), min_size=1, max_size=3).map("/".join)


def test_a_file_keeps_its_times(tmp_path: Path) -> None:
    """Under its new name it is the same version."""
    stores = Stores()
    (tmp_path / "a").write_bytes(b"1")
    os.utime(tmp_path / "a", ns=(5, 123_456_789))
    stores.place(str(tmp_path / "a"), str(tmp_path / "b" / "c"))
    found = stores.stat(str(tmp_path / "b" / "c"))
    assert (found.size, found.mtime_ns) == (1, 123_456_789)
    assert same_content(stores, str(tmp_path / "a"), str(tmp_path / "b" / "c"))


def test_nothing_is_overwritten_on_the_local_disk(tmp_path: Path) -> None:
    """A file at the target stays, even if it was just created."""
    for name in "ab":
        (tmp_path / name).write_text(name)
    with pytest.raises(SourceError):
        Stores().place(str(tmp_path / "a"), str(tmp_path / "b"))
    assert (tmp_path / "b").read_text() == "b"


def test_to_another_disk(tmp_path: Path) -> None:
    """It is copied there with its times."""
    (tmp_path / "a").write_bytes(b"1")
    target = another_disk(tmp_path) / f"{tmp_path.parent.name}-{tmp_path.name}-place"
    try:
        Stores().place(str(tmp_path / "a"), str(target))
        assert target.read_bytes() == b"1"
        assert target.stat().st_mtime_ns == (tmp_path / "a").stat().st_mtime_ns
    finally:
        target.unlink(missing_ok=True)


def test_to_a_disk_without_modes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a share of another system may be: it keeps the file's times."""

    def denied(*_: object, **__: object) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    (tmp_path / "a").write_bytes(b"1")
    os.utime(tmp_path / "a", ns=(5, 123_456_789))
    target = another_disk(tmp_path) / f"{tmp_path.parent.name}-{tmp_path.name}-modes"
    monkeypatch.setattr(os, "chmod", denied)
    try:
        Stores().place(str(tmp_path / "a"), str(target))
        assert target.stat().st_mtime_ns == 123_456_789
    finally:
        target.unlink(missing_ok=True)


def test_a_source_that_is_gone_and_another_store(tmp_path: Path) -> None:
    """The error names each."""
    with pytest.raises(FileMissingError, match="/a does not exist"):
        Stores().place(str(tmp_path / "a"), str(tmp_path / "b"))
    with pytest.raises(SourceError, match="another store"):
        Stores().place(str(tmp_path / "a"), "memory://b")
    assert Stores().are_one("s3://a/x", "s3a://b/y")
    assert not Stores().are_one("sftp://a/x", "sftp://b/x")
    assert not Stores().has_tags(str(tmp_path))


@given(one=st.binary(max_size=50), other=st.binary(max_size=50), end=st.integers(0, 2))
def test_the_same_bytes(one: bytes, other: bytes, end: int) -> None:
    """Two files are the same when their bytes are."""
    stores = Stores()
    other = one if end else other
    stores.write_bytes_atomic("memory://same/one", one)
    stores.write_bytes_atomic("memory://same/other", other)
    assert same_content(stores, "memory://same/one", "memory://same/other") == (one == other)


@given(root=_NAMES, inside=_NAMES, other=_NAMES)
def test_what_is_inside_of_a_root(root: str, inside: str, other: str) -> None:
    """A path below the root has a relative path; any other has none."""
    roots = SourceRoots(FileSource(f"s3://bucket/{root}"))
    (uri,) = roots.uris
    path = roots.path_of(f"{uri}/{inside}")
    assert path is not None
    assert f"{uri}/{path}" == f"{uri}/{inside}"
    assert roots.path_of(f"s3://bucket/{root}x/{other}") is None
    assert roots.path_of(f"s3://other/{root}/{inside}") is None
    assert roots.meet(f"{uri}/{other}")
    assert roots.meet("s3://bucket")
    assert not roots.meet(f"{uri}-archive/{other}")


def test_links_lead_out(tmp_path: Path) -> None:
    """A file reached by a link below the root is not inside; a root may itself be a link."""
    (tmp_path / "in" / "sub").mkdir(parents=True)
    (tmp_path / "out").mkdir()
    (tmp_path / "in" / "link").symlink_to(tmp_path / "out")
    (tmp_path / "root").symlink_to(tmp_path / "in")
    (tmp_path / "in" / "file").symlink_to(tmp_path / "out" / "file")
    roots = SourceRoots(FileSource([str(tmp_path / "root"), str(tmp_path / "single")]))
    at = f"file://{tmp_path}/root"
    assert roots.path_of(f"{at}/sub/a") == "sub/a"
    assert roots.path_of(f"{at}/link/a") is None
    assert roots.path_of(f"{at}/file") is None
    assert roots.path_of(f"{at}/.hidden") is None
    assert roots.path_of(f"file://{tmp_path}/single") == "single"
    assert roots.meet(f"file://{tmp_path}/in/sub")
    assert not roots.meet(f"file://{tmp_path}/in/_kept")
