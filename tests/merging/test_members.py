"""`blockread members`: what it lists and writes, and that it writes nowhere but below its target."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from airflow_provider_blockread.cli.commands import blockread
from airflow_provider_blockread.errors import SourceError
from airflow_provider_blockread.options import MERGED, Selection
from tests.pipeline.make import Pipe, ReadHere
from tests.remedies.advice import commands
from tests.remedies.desk import without_spark

_FILES = {"a/one.xml": b"\x00one\xff", "a/two.xml": b"two" * 400_000, "b/one.xml": b"", "c": b"c", "d": b"d" * 99}
_FORMS = {
    "parquet": ("parquet", {"audit": ("_file", "_modified")}),
    "plain": ("archive", {"separator": "\n"}),
    "zstd": ("archive zstd", {}),
}


@pytest.fixture(scope="module", params=_FORMS)
def merged(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Pipe:
    """Return a pipe that has merged the files."""
    kind, options = _FORMS[request.param]
    pipe = Pipe(
        tmp_path_factory.mktemp("merged"),
        ReadHere(),
        kind=kind,
        sink_options=options,
        record_format=MERGED,
        merges=True,
    )
    pipe.put(_FILES)
    pipe.run()
    return pipe


def call(*arguments: object) -> Result:
    """Return the result of `blockread members`."""
    return CliRunner().invoke(blockread, ["members", *map(str, arguments)])


def refused(*arguments: object) -> str:
    """Return the message of an error in which `blockread members` ends."""
    found = call(*arguments).exception
    assert isinstance(found, SourceError)
    return str(found)


def parquet(path: Path, names: list[str]) -> Path:
    """Return a merged file of these names, whose contents are their numbers."""
    values = [b"%d" % number for number in range(len(names))]
    pq.write_table(pa.table({"value": pa.array(values), "_file": names}), path)
    return path


def test_members_are_listed(merged: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a folder, and of one file of it: names, times and places, of which the contents are not read."""
    monkeypatch.delenv("COLUMNS", raising=False)  # where a runner of tests has set the width of a terminal
    listed = json.loads(call("list", merged.out, "--json").stdout)
    (path,) = (path for path in merged.out.iterdir() if path.name[0] != ".")
    table = call("list", path).stdout

    assert {member["file"]: member["length"] for member in listed} == {
        merged.uri(name): len(data) for name, data in _FILES.items()
    }
    assert {member["merged"] for member in listed} == {path.name}
    assert all(member["modified"].endswith("+00:00") for member in listed)
    assert [member["offset"] for member in listed] == sorted(member["offset"] for member in listed)
    assert all(merged.uri(name) in table for name in _FILES)


def test_members_in_folders_of_partitions_are_found(tmp_path: Path) -> None:
    """From the folder of the merge, or from one of its partitions."""
    pipe = Pipe(
        tmp_path,
        ReadHere(),
        sink_options={"audit": ("_file", "_modified"), "path_columns": ("day",), "partition_by": ("_window", "day")},
        record_format=MERGED,
        merges=True,
    )
    pipe.put({"day=1/a": b"a", "day=2/b": b"b", "day=2/c": b"c"})
    pipe.run()
    (window,) = pipe.out.iterdir()

    assert call("list", pipe.out, "--json").stdout.count('"file"') == 3
    assert call("cat", pipe.out, "c").stdout_bytes == b"c"
    assert call("extract", window / "day=2", "--to", tmp_path / "to", "--base", pipe.uri("day=2")).exit_code == 0
    assert sorted(path.name for path in (tmp_path / "to").iterdir()) == ["b", "c"]


@pytest.mark.parametrize("command", ["list {}", "cat {} a", "extract --to out {}"])
@pytest.mark.parametrize("name", ["missing", "empty"])
def test_a_folder_without_merged_files_is_refused(tmp_path: Path, command: str, name: str) -> None:
    """A path that was mistyped is no empty list."""
    (tmp_path / "empty").mkdir()
    refused = call(*command.format(tmp_path / name).split()).exception

    assert isinstance(refused, SourceError)
    assert f"{name} is neither a merged file nor a folder with merged files (part-w*); name one" in str(refused)


def test_a_member_is_written_as_it_was(merged: Pipe) -> None:
    """By its name, or by the end of it that no other name has."""
    for name, data in _FILES.items():
        assert call("cat", merged.out, merged.uri(name)).stdout_bytes == data
    assert call("cat", merged.out, "two.xml").stdout_bytes == _FILES["a/two.xml"]
    for wrong, count in (("one.xml", 2), ("wo.xml", "no")):
        refused = call("cat", merged.out, wrong).exception
        assert isinstance(refused, SourceError)
        assert f"holds {count} files named '{wrong}'" in str(refused)


def test_all_members_are_written_below_a_folder(merged: Pipe, tmp_path: Path) -> None:
    """By their names, or what they are below a base, with their times; other content that is there stays."""
    assert call("extract", merged.out, "--to", tmp_path / "all").exit_code == 0
    some = call("extract", merged.out, "--to", tmp_path / "some", "--base", merged.uri("a"))
    (tmp_path / "some" / "two.xml").rename(tmp_path / "some" / f".blockread-{os.getpid()}")  # as if it had been killed
    again = call("extract", merged.out, "--to", tmp_path / "some", "--base", merged.uri("a"))
    (tmp_path / "some" / "one.xml").write_bytes(b"mine")
    other = call("extract", merged.out, "--to", tmp_path / "some", "--base", merged.uri("a")).exception

    whole = (tmp_path / "all").joinpath(*merged.source.parts[1:])
    assert {name: (whole / name).read_bytes() for name in _FILES} == _FILES
    times = [(root / "c").stat().st_mtime_ns // 1000 for root in (whole, merged.source)]
    assert times[0] == times[1]
    assert again.exit_code == 0
    assert some.stdout.startswith("2 files written")
    assert sorted(path.name for path in (tmp_path / "some").iterdir()) == ["one.xml", "two.xml"]
    assert "choose an empty folder" in str(other)
    assert (tmp_path / "some" / "one.xml").read_bytes() == b"mine"


def test_a_base_that_was_mistyped(merged: Pipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is refused, with the command that shows the names; a folder of these is taken."""
    monkeypatch.delenv("COLUMNS", raising=False)
    message = refused("extract", merged.out, "--to", tmp_path / "to", "--base", "file:///typo")
    assert f"no file in {merged.out} is below file:///typo/;" in message
    assert not (tmp_path / "to").exists()
    (command,) = commands(message)
    shown = CliRunner().invoke(blockread, command).stdout
    folder = next(word for word in shown.split() if word.endswith("a/one.xml")).rpartition("/")[0]

    assert call("extract", merged.out, "--to", tmp_path / "to", "--base", folder).stdout.startswith("2 files written")


@pytest.mark.parametrize("form", _FORMS)
def test_two_versions_of_a_file_are_told_apart(tmp_path: Path, form: str) -> None:
    """In different merged files: nothing is written from their folder, and either version from its own file."""
    kind, options = _FORMS[form]
    pipe = Pipe(tmp_path, ReadHere(), kind=kind, sink_options=options, record_format=MERGED, merges=True)
    pipe.selection = Selection(on_modified="add")
    for window, content in (("one", b"old"), ("two", b"newer")):
        pipe.put({"a": content, window: b""})
        pipe.run(window)
    messages = [
        refused("cat", pipe.out, pipe.uri("a")),
        refused("extract", pipe.out, "--to", tmp_path / "all"),
    ]
    found = [message.partition("; name one of these merged files")[0].split() for message in messages]
    merged = {words[0]: words[2] for words in found}

    assert not (tmp_path / "all").exists()
    assert len({*merged, *merged.values()}) == 2
    for number, uri in enumerate((*merged, *merged.values())):
        content = call("cat", uri, pipe.uri("a")).stdout_bytes
        assert content in {b"old", b"newer"}
        assert call("extract", uri, "--to", tmp_path / f"{number}", "--base", pipe.source).exit_code == 0
        assert (tmp_path / f"{number}" / "a").read_bytes() == content


def test_records_of_one_name_are_read_as_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As those of a file that was read in records, which no name tells apart."""
    without_spark(monkeypatch)
    monkeypatch.setenv("BLOCKREAD_STATE", f"sqlite:///{tmp_path}/ledger.db")
    merged = parquet(tmp_path / "it's merged.parquet", ["file:///a", "file:///a"])
    message = refused("cat", merged, "a")
    assert message == refused("extract", merged, "--to", tmp_path / "all")
    assert not (tmp_path / "all").exists()
    (command,) = commands(message)
    ran = CliRunner().invoke(blockread, [*command, "--output", f"{tmp_path}/out"])

    assert ran.exit_code == 0, ran.output
    assert pq.read_table(tmp_path / "out").column("value").to_pylist() == [b"0", b"1"]


def test_names_that_differ_and_have_one_place(tmp_path: Path) -> None:
    """Of two stores, or a file and a folder of one name: nothing is written, and each in turn can be."""
    for name, names in (("stores", ["s3://b/x", "gs://b/x"]), ("folder", ["s3://b/x", "s3://b/x/y"])):
        merged = parquet(tmp_path / f"{name}.parquet", names)
        message = refused("extract", merged, "--to", tmp_path / name)
        assert f"{names[0]!r} and {names[1]!r} cannot both be written below" in message
        assert not (tmp_path / name).exists()
        assert call("cat", merged, names[0]).stdout_bytes == b"0"
        assert call("extract", merged, "--to", tmp_path / name, "--base", names[1].rpartition("/")[0]).exit_code == 0
        assert (tmp_path / name / names[1][-1]).read_bytes() == b"1"


def test_a_whole_name_is_taken_before_the_end_of_another(tmp_path: Path) -> None:
    """What the list names can be named."""
    assert call("cat", parquet(tmp_path / "x.parquet", ["a/one", "one"]), "one").stdout_bytes == b"1"


@pytest.mark.parametrize(
    "name",
    [
        "../outside",
        "file:///../outside",
        "s3://../outside",
        "file:///a/../../outside",
        "file:///a//b",
        "file:///a/.",
        "file:///link/outside",
        "file:///link",
        "file:///",
        "",
    ],
)
def test_no_name_leads_out_of_the_target(tmp_path: Path, name: str) -> None:
    """Neither by dots nor by links; nothing is written then."""
    target, outside = tmp_path / "target", tmp_path / "there"
    target.mkdir()
    outside.mkdir()
    (target / "link").symlink_to(outside)
    table = pa.table({"value": pa.array([b"x"]), "_file": [name]})
    pq.write_table(table, tmp_path / "hostile.parquet")
    before = sorted(tmp_path.rglob("*"))

    refused = call("extract", tmp_path / "hostile.parquet", "--to", target).exception
    assert isinstance(refused, SourceError)
    assert "`blockread members cat`" in str(refused) or "something else is there" in str(refused)
    assert [path for path in sorted(tmp_path.rglob("*")) if path not in before and path.is_file()] == []
    assert list(outside.iterdir()) == []
    assert call("cat", tmp_path / "hostile.parquet", name).stdout_bytes == b"x"
