"""Sources that cannot be listed: written, allowed or put right as the message says, they are."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from airflow_provider_blockread.errors import SourceError
from airflow_provider_blockread.options import FileSource
from airflow_provider_blockread.storage import Stores
from airflow_provider_blockread.storage.listing.files import list_files
from tests.remedies.data.desk import Desk


@dataclass(frozen=True)
class Asked:
    """What a plan is asked for, where `{in}` is the source; what it says, and what to ask for then."""

    given: list[str]
    says: str
    remedies: dict[str, list[str]]

    def arguments(self, desk: Desk, given: list[str]) -> list[str]:
        """Return the arguments of the plan."""
        return ["plan", *(text.replace("{in}", str(desk.source)) for text in given)]


WRITTEN = [
    Asked([""], "'' names no place; give a path or a URI", {"a path": ["{in}"], "a URI": ["file://{in}"]}),
    Asked(["file://in"], "write file:///folder/name, or the plain path",
          {"file:///": ["file://{in}"], "the plain path": ["{in}"]}),
    Asked(["file:{in}"], "write file:// with two slashes, or ./file:/", {"file://": ["file://{in}"]}),
    Asked(["zip://a.txt::file://{in}/a.zip"], "name the inner place itself", {"itself": ["file://{in}/a.txt"]}),
    Asked(["nonsense://{in}"], "cannot open nonsense://, the scheme is unknown; correct it", {"file://": ["file://{in}"]}),
    Asked(["{in}/nowhere"], "does not exist; correct its path", {"correct its path": ["{in}"]}),
    Asked(["{in}/*.txt"], "a root has no wildcards: name the folder above the first one, and give the rest as pattern",
          {"pattern": ["{in}", "--pattern", "*.txt"]}),
    Asked(["{in}/{a,b}.txt"], "a root has no wildcards: name the folder above the first one", {}),
    Asked(["{in}/a.txt/"], "a.txt/ does not exist; correct its path", {"correct its path": ["{in}/a.txt"]}),
    Asked(["{in}/pipe"], "is neither a folder nor a file; correct its path", {"correct its path": ["{in}"]}),
    Asked(["{in}/" + "x" * 300], "no file can have this path", {"correct it": ["{in}"]}),
    Asked(["{in}", "--pattern", ""], "write one such as *.csv or **/*.json",
          {"*.csv": ["{in}", "--pattern", "*.txt"], "**/*.json": ["{in}", "--pattern", "**/*.txt"]}),
    Asked(["{in}", "--pattern", "[z-a]*"], "write ranges from low to high", {"[a-z]": ["{in}", "--pattern", "[a-z]*"]}),
    Asked(["{in}", "--pattern", "*.{csv,txt}"], "globs here have no braces; write a pattern for each, or [{]",
          {"a pattern for each": ["{in}", "--pattern", "*.csv", "--pattern", "*.txt"],
           "[{]": ["{in}", "--pattern", "[{]csv,txt}", "--pattern", "*"]}),
    Asked(["{in}", "--pattern", "[^b]*"], "globs here have no [^...]; write [!...]",
          {"[!...]": ["{in}", "--pattern", "[!b]*"]}),
    Asked(["{in}", "--pattern", "{in}/*.txt"], "is matched against the path below it; write '*.txt'",
          {"*.txt": ["{in}", "--pattern", "*.txt"]}),
    Asked(["{in}", "--exclude", "re:file://{in}/b/.*"], "is matched against the path below it; write 're:b/.*'",
          {"re:b/.*": ["{in}", "--exclude", "re:b/.*"]}),
    Asked(["{in}", "--pattern", "re:("], "correct it, or write a glob without 're:'",
          {"correct it": ["{in}", "--pattern", "re:(.*)"], "a glob without 're:'": ["{in}", "--pattern", "*"]}),
    Asked(["{in}", "--pattern", "re:"], "write one such as re:", {r"re:.*\.csv": ["{in}", "--pattern", r"re:.*\.txt"]}),
    Asked(["s3:/bucket/in"], "write s3:// with two slashes, or ./s3:/bucket/in for a local path",
          {"./s3:/bucket/in": ["./s3:/bucket/in"]}),
    Asked([" file://{in}"], "begins with a blank, so it would be a local path; remove the blank",
          {"remove the blank": ["file://{in}"]}),
    Asked(["~nobody-of-this-name/in"], "there is no user with this home folder; write the whole path, or ./~nobody",
          {"the whole path": ["{in}"]}),
    Asked(["sftp://me:secret@host/in"], "put it into a connection", {}),
    Asked(["sftp:/me:secret@host/in"], "write sftp:// with two slashes", {}),
    Asked(["zip://a::sftp://me:secret@host/in"], "is a chain of URLs", {}),
]  # fmt: skip


@pytest.mark.parametrize("asked", WRITTEN, ids=lambda asked: asked.says)
def test_a_source_is_found_when_written_as_the_message_says(
    desk: Desk, asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Roots and patterns; each way that the message names by itself."""
    monkeypatch.chdir(desk.folder)
    (desk.folder / "s3:" / "bucket" / "in").mkdir(parents=True)
    (desk.folder / "s3:" / "bucket" / "in" / "a.txt").write_text("x\n")
    desk.put({"a.txt": b"x\n"})
    os.mkfifo(desk.source / "pipe")
    message = desk.says(*asked.arguments(desk, asked.given))

    assert asked.says in message
    assert "secret" not in message
    for named, given in asked.remedies.items():
        assert named in message
        assert desk.json(*asked.arguments(desk, given))["files"] == 1


def test_a_source_may_be_made_before_the_first_file_lands(desk: Desk) -> None:
    """The other remedy of a root that does not exist."""
    desk.source.rmdir()
    assert "or create it before the first file lands" in desk.fails()
    desk.source.mkdir()

    assert desk.runs() == []
    desk.put({"a.txt": b"x\n"})
    assert desk.runs() == [{"value": "x"}]


def test_a_relative_source_needs_a_working_folder(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder that is there the same text is found, and a whole path is found anyway."""
    desk.put({"a.txt": b"x\n"})
    gone = desk.folder / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    arguments = [
        "plan",
        desk.source.name,
        "--format",
        "lines",
        "--state",
        f"sqlite:///{desk.folder}/ledger.db",
        "--json",
    ]
    assert "is relative to the working folder, which is gone" in desk.says(*arguments)
    assert desk.json(*arguments[:1], str(desk.source), *arguments[2:])["files"] == 1
    monkeypatch.chdir(desk.folder)

    assert desk.json(*arguments)["files"] == 1


def _renamed(desk: Desk, name: bytes) -> None:
    os.rename(os.path.join(os.fsencode(desk.source), name), desk.source / "b.txt")  # noqa: PTH104, PTH118 - no text


@pytest.mark.parametrize("renames", [True, False])
def test_names_that_are_no_text_are_renamed_or_excluded(desk: Desk, renames: bool) -> None:  # noqa: FBT001
    """By the very pattern that the message names."""
    desk.put({"a.txt": b"x\n"})
    name = b"b\xff.txt"
    with open(os.path.join(os.fsencode(desk.source), name), "wb") as file:  # noqa: PTH118, PTH123 - no text
        file.write(b"y\n")
    message = desk.fails()
    pattern = re.search("exclude='(.*)' does", message)
    assert pattern
    options = []
    if renames:
        _renamed(desk, name)
    else:
        options = ["--exclude", pattern[1].encode().decode("unicode_escape")]

    assert len(desk.runs(*options)) == 1 + renames


AS_SOMEBODY = """
import os, sys
from airflow_provider_blockread.options import FileSource
from airflow_provider_blockread.storage import Stores
from airflow_provider_blockread.storage.listing.files import list_files
if os.geteuid() == 0:
    os.seteuid(65534)
options = {"exclude": sys.argv[2]} if len(sys.argv) > 2 else {}
try:
    print([version.path for version in list_files(Stores(), FileSource(sys.argv[1], **options), now_s=4e9)])
except Exception as error:
    print(type(error).__name__, error)
"""


def test_a_folder_is_listed_once_the_account_may_or_when_it_is_excluded(desk: Desk) -> None:
    """By a person who is not root, to whom nothing is denied."""
    desk.put({"a.txt": b"x\n", "locked/b.txt": b"y\n"})
    shared = Path(tempfile.gettempdir())
    for folder in (desk.source, *(parent for parent in desk.source.parents if shared in parent.parents)):
        folder.chmod(0o755)
    (desk.source / "locked").chmod(0)

    def listed(*exclude: str) -> str:
        command = [sys.executable, "-c", AS_SOMEBODY, str(desk.source), *exclude]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert "locked: this folder cannot be listed; give the reading account access, or exclude the folder" in listed()
    assert listed("locked/") == f"['file://{desk.source}/a.txt']\n"
    (desk.source / "locked").chmod(0o755)
    assert "locked/b.txt" in listed()


@pytest.mark.parametrize(
    ("name", "line", "says", "corrected"),
    [
        ("listed.txt", b"\xff", "line 1 is not a path in UTF-8, but b'\\xff'; correct the list", b"{in}/a.txt"),
        (
            "listed.jsonl",
            b"{in}/a.txt",
            "is not a JSON text or an object with the text `path`",
            b'{"path": "{in}/a.txt"}',
        ),
        ("listed.jsonl", b"{}", "correct the list", b'"{in}/a.txt"'),
        ("listed.txt", b"{in}/b.txt", "does not exist; restore it, or leave it out of the list", b"{in}/a.txt"),
        ("listed.txt", b"/elsewhere/b.txt", "or leave it out of the list", b"{in}/a.txt"),
        ("listed.txt", b"{in}/sub", "is a folder or a device where a file is needed; correct the path", b"{in}/a.txt"),
    ],
    ids=["UTF-8", "JSON", "an object", "nothing", "elsewhere", "a folder"],
)
def test_a_list_is_read_once_it_is_corrected(desk: Desk, name: str, line: bytes, says: str, corrected: bytes) -> None:
    """The line, as the message says."""
    desk.put({"a.txt": b"x\n", "sub/c.txt": b"y\n"})
    where = str(desk.source).encode()
    listed = desk.folder / name
    listed.write_bytes(line.replace(b"{in}", where) + b"\n")

    assert says in desk.fails("--files-from", str(listed))
    listed.write_bytes(corrected.replace(b"{in}", where) + b"\n")
    assert desk.runs("--files-from", str(listed)) == [{"value": "x"}]


def test_a_list_is_read_once_it_is_written_or_named_rightly(desk: Desk) -> None:
    """A list that does not exist; one whose suffix says another format than it has."""
    desk.put({"a.txt": b"x\n"})
    listed = desk.folder / "listed.txt"
    assert "correct its place, or write it before the plan runs" in desk.fails("--files-from", str(listed))
    listed.write_text(f"{desk.source}/a.txt\n")

    assert "write it before the plan runs" in desk.fails("--files-from", f"{listed}.old")
    assert desk.runs("--files-from", str(listed)) == [{"value": "x"}]


def test_a_file_of_a_list_is_read_when_restored_or_its_folder_is_a_root(desk: Desk) -> None:
    """The other remedies of files from upstream."""
    desk.put({"a.txt": b"x\n"})
    other = desk.folder / "other"
    other.mkdir()
    (other / "b.txt").write_text("y\n")
    listed = desk.folder / "listed.txt"
    listed.write_text(f"{desk.source}/c.txt\n{other}/b.txt\n")
    assert "is named upstream, but is in none of the source's roots" in desk.fails("--files-from", str(listed))
    two = [*desk.reading(), str(other), "--name", "two", "--files-from", str(listed)]
    assert "c.txt is named upstream, but does not exist; restore it" in desk.says(*two)
    desk.put({"c.txt": b"z\n"})
    desk.done(*two)

    assert sorted(row["value"] for row in desk.rows()) == ["y", "z"]


def test_a_file_is_read_once_it_is_one(desk: Desk) -> None:
    """A folder, and a name of which a part is a file."""
    desk.put({"a.txt": b"x\n"})
    with pytest.raises(SourceError, match="is a folder or a device where a file is needed; correct the path"):
        Stores().stat(str(desk.source))
    with pytest.raises(SourceError, match="a part of this path is a file where a folder is needed; correct the path"):
        Stores().stat(f"{desk.source}/a.txt/b.txt")
    with pytest.raises(
        SourceError, match="is a file where a folder is needed; correct the path, or move the file away"
    ):
        Stores().makedirs(f"{desk.source}/a.txt")

    assert Stores().stat(f"{desk.source}/a.txt").size == 2
    (desk.source / "a.txt").rename(desk.source / "b.txt")
    Stores().makedirs(f"{desk.source}/a.txt")
    assert [version.path for version in list_files(Stores(), FileSource(str(desk.source)), now_s=4e9)] == [
        f"file://{desk.source}/b.txt"
    ]
