"""Links of all kinds, and roots that overlap through them: every file inside is listed, none outside; listings end."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.errors import FileChangedError, SourceError
from airflow_provider_blockread.options import FileSource
from airflow_provider_blockread.storage import Stores
from airflow_provider_blockread.storage.listing import local
from airflow_provider_blockread.storage.listing.files import list_files
from airflow_provider_blockread.storage.listing.held_back import HeldBack
from airflow_provider_blockread.storage.listing.roots import bounds_of
from airflow_provider_blockread.storage.listing.rules import NameRules
from airflow_provider_blockread.storage.listing.upstream import named_files
from airflow_provider_blockread.storage.versions import open_version


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with a root `in`, and a file and a folder `out` outside it."""
    (tmp_path / "in" / "sub").mkdir(parents=True)
    (tmp_path / "out").mkdir()
    for name in ("in/a", "in/sub/b", "out/secret", "out/more"):
        (tmp_path / name).write_text("x\n")
    return tmp_path


def listed(source: FileSource, held: HeldBack | None = None) -> list[str]:
    """Return the names below the source's only root that a listing yields."""
    found = list_files(Stores(), source, now_s=4e9, held=held)
    return [version.path.removeprefix(f"file://{source.roots[0]}/") for version in found]


def link_out(place: Path) -> None:
    """Create links of every kind that lead out, and some that do not."""
    (place / "in" / "to-file").symlink_to(place / "out" / "secret")
    (place / "in" / "to-folder").symlink_to("../out")
    (place / "in" / "through").symlink_to("to-folder/secret")
    (place / "in" / "up").symlink_to("sub/../../out/more")
    (place / "in" / "dangling").symlink_to(place / "out" / "none")
    (place / "in" / "round").symlink_to("round")
    (place / "in" / "kept").symlink_to("sub/../sub/b")
    (place / "in" / "home").symlink_to("../in/sub")


def test_what_links_lead_to_outside_is_left_out_and_counted(place: Path) -> None:
    """However they are written; dangling links and excluded ones are not counted."""
    link_out(place)
    held = HeldBack()
    assert listed(FileSource(str(place / "in")), held) == ["a", "sub/b"]
    assert held.counts == {"linked_out": 4}
    assert set(held.samples["linked_out"]) <= {
        f"file://{place}/in/{name}" for name in ("to-file", "to-folder", "through", "up")
    }

    held = HeldBack()
    assert listed(FileSource(str(place / "in"), exclude=["to-*", "to-*/**", "up"]), held) == ["a", "sub/b"]
    assert held.counts == {"linked_out": 1}


def test_an_option_lets_links_lead_anywhere(place: Path) -> None:
    """Each file is listed under its link's name."""
    link_out(place)
    held = HeldBack()
    found = listed(FileSource(str(place / "in"), follow_links="anywhere"), held)
    assert found == ["a", "through", "to-file", "up", "sub/b", "to-folder/more", "to-folder/secret"]
    assert not held.counts


def test_any_root_is_inside_and_a_root_may_be_a_link(place: Path) -> None:
    """A link may lead into another root, and a root may be a link."""
    (place / "root").symlink_to(place / "in")
    (place / "in" / "to-file").symlink_to(place / "out" / "secret")
    (place / "in" / "own").symlink_to(place / "in" / "sub")
    held = HeldBack()
    assert listed(FileSource(str(place / "root")), held) == ["a", "sub/b"]
    assert held.counts == {"linked_out": 1}
    assert listed(FileSource([str(place / "root"), str(place / "out" / "secret")]), held := HeldBack())[:1] == ["a"]
    assert not held.counts
    (place / "single").symlink_to(place / "out" / "more")
    assert [v.size for v in list_files(Stores(), FileSource(str(place / "single")), now_s=4e9)] == [2]


@pytest.mark.parametrize("marker", ["_SUCCESS", "{name}.done"])
def test_a_marker_outside_marks_nothing(place: Path, marker: str) -> None:
    """A link to a marker is not one, in a folder or next to a root that is a file; nor is a folder or a pipe."""
    (place / "in" / marker.format(name="a")).symlink_to(place / "out" / "secret")
    for root in ("in", "in/a"):
        held = HeldBack()
        found = list_files(Stores(), FileSource(str(place / root), done_marker=marker), now_s=4e9, held=held)
        assert list(found) == []
        assert held.counts["unmarked"]
    (place / "in" / marker.format(name="a")).unlink()
    os.mkfifo(place / "in" / marker.format(name="a"))
    assert list(list_files(Stores(), FileSource(str(place / "in/a"), done_marker=marker), now_s=4e9)) == []
    (place / "in" / marker.format(name="a")).unlink()
    (place / "in" / marker.format(name="a")).mkdir()
    assert list(list_files(Stores(), FileSource(str(place / "in/a"), done_marker=marker), now_s=4e9)) == []


def test_a_link_to_what_must_not_be_looked_at_fails_no_listing(place: Path) -> None:
    """A link cannot stop a feed: only the root's folders are listed."""
    (place / "in" / "long").symlink_to("/" + "x" * 300)
    (place / "in" / "secret").symlink_to(place / "out" / "secret" / "file")
    assert listed(FileSource(str(place / "in"))) == ["a", "sub/b"]


def test_a_list_from_upstream_leads_no_further_than_a_listing(place: Path) -> None:
    """A link to a file, and a path through a link to a folder, are left out and counted."""
    link_out(place)
    names = ["a", "to-file", "to-folder/secret", "to-folder/more", "through", "kept", "home/b", "sub/b"]
    source, held = FileSource(str(place / "in")), HeldBack()
    found = named_files(Stores(), source, [f"{place}/in/{name}" for name in names], held)
    assert [version.path.rpartition("/in/")[2] for version in found] == ["a", "kept", "home/b", "sub/b"]
    assert held.counts == {"linked_out": 4}

    source, held = FileSource(str(place / "in"), follow_links="anywhere"), HeldBack()
    assert len(list(named_files(Stores(), source, [f"{place}/in/{name}" for name in names], held))) == len(names)
    assert not held.counts


def reading(source: FileSource, version: FileVersion) -> bytes:
    """Return a planned file's bytes, as a task reads them."""
    with open_version(Stores(), version, bounds_of(source)) as file:
        return file.read()


@pytest.mark.parametrize("at", ["file", "folder"])
def test_a_link_exchanged_after_the_plan_leads_nowhere(place: Path, at: str) -> None:
    """Although its new target has the planned size and time; the error names the remedy."""
    source = FileSource(str(place / "in"))
    planned = Stores().stat(str(place / "in" / "sub" / "b"))
    (place / "out" / "b").write_text("x\n")
    os.utime(place / "out" / "b", ns=(planned.mtime_ns, planned.mtime_ns))
    assert reading(source, planned) == b"x\n"

    (place / "in" / "sub" / "b").unlink()
    if at == "file":
        (place / "in" / "sub" / "b").symlink_to(place / "out" / "b")
    else:
        (place / "in" / "sub").rmdir()
        (place / "in" / "sub").symlink_to("../out")
    with pytest.raises(SourceError, match=r"a link out of the source's roots, to .*/out/b; .*--follow-links anywhere"):
        reading(source, planned)
    assert reading(FileSource(str(place / "in"), follow_links="anywhere"), planned) == b"x\n"
    assert reading(FileSource([str(place / "in"), str(place / "out")]), planned) == b"x\n"


@pytest.mark.slow
def test_a_link_that_changes_all_the_time_never_leads_out(place: Path) -> None:
    """Whenever it changes, only a file of the source is read, or an error is raised."""
    source, path = FileSource(str(place / "in")), place / "in" / "sub" / "b"
    (place / "out" / "b").write_text("y\n")
    planned = Stores().stat(str(path))
    os.utime(place / "out" / "b", ns=(planned.mtime_ns, planned.mtime_ns))
    (place / "kept").mkdir()
    (place / "in" / "sub").rename(place / "kept" / "sub")
    stop = threading.Event()

    def exchange() -> None:
        spare = place / "spare"
        while not stop.is_set():
            for target in (place / "out", place / "in" / ".real"):
                spare.symlink_to(target)
                spare.replace(place / "in" / "sub")

    (place / "kept" / "sub").rename(place / "in" / ".real")
    (place / "in" / "sub").symlink_to(place / "in" / ".real")
    thread = threading.Thread(target=exchange)
    thread.start()
    read = set()
    try:
        for _ in range(2000):
            try:
                read.add(reading(source, planned))
            except (SourceError, FileChangedError):
                read.add(b"refused")
    finally:
        stop.set()
        thread.join()
    assert read == {b"x\n", b"refused"}


def test_a_root_that_is_a_link_is_read(place: Path) -> None:
    """Its files are known and opened by the link's path."""
    (place / "root").symlink_to(place / "in")
    source = FileSource(str(place / "root"))
    (one, other) = list_files(Stores(), source, now_s=4e9)
    assert reading(source, one) + reading(source, other) == b"x\nx\n"


def test_links_lead_to_one_folder_in_few_ways(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a path decides which files are taken, each way counts; too many are an error before they take for ever."""
    monkeypatch.setattr(local, "_MOST_WAYS", 3)
    for number in range(4):
        (place / "in" / f"to-{number}").symlink_to("sub")
        (place / "out" / f"to-{number}").symlink_to("../in/sub")
    assert listed(FileSource(str(place / "in"), pattern="*/b")) == ["sub/b"]

    (place / "in" / "out").symlink_to("../out")
    found = FileSource(str(place / "in"), pattern="**/*/b", follow_links="anywhere", exclude="out/to-3/**")
    assert listed(found) == ["sub/b"]
    with pytest.raises(SourceError, match=r"sub: links lead to this folder in more than 3 ways; exclude some"):
        listed(FileSource(str(place / "in"), pattern="**/*/b", follow_links="anywhere"))


def test_files_that_no_pattern_takes_cost_little_behind_links(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are not compared with each of the links that lead to their folder."""
    for number in range(30):
        (place / "in" / f"to-{number}").symlink_to("../out")
    for number in range(30):
        (place / "out" / f"{number}.bin").touch()
    asked = []
    matches = NameRules.matches
    monkeypatch.setattr(NameRules, "matches", lambda rules, name: asked.append(name) or matches(rules, name))
    assert listed(FileSource(str(place / "in"), pattern="*/more", follow_links="anywhere")) == ["to-0/more"]
    assert len(asked) < 100


@pytest.mark.parametrize("options", [{"pattern": "now/*"}, {"max_depth": 2}, {"pattern": "*"}])
def test_links_of_one_name_in_several_roots(place: Path, options: dict[str, object]) -> None:
    """Each leads to the same folder: its files are listed once, under the first of them."""
    for root in ("one", "two"):
        (place / root).mkdir()
        (place / root / "now").symlink_to(place / "out")
    source = FileSource([str(place / "one"), str(place / "two")], follow_links="anywhere", **options)
    assert listed(source) == ["now/more", "now/secret"]


@pytest.mark.parametrize("options", [{"exclude": "kept**"}, {"pattern": "new**"}])
def test_stars_that_span_folders_beside_other_characters(place: Path, options: dict[str, str]) -> None:
    """They depend on the path, so the files behind two links are listed under the one that the patterns take."""
    for name in ("kept", "new"):
        (place / "in" / name).symlink_to(place / "out")
    found = listed(FileSource(str(place / "in"), follow_links="anywhere", **options))
    assert [name for name in found if "/" in name and "sub" not in name] == ["new/more", "new/secret"]
