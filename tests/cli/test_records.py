"""`blockread records` on files of every kind: codecs by name, encodings by mark, errors with remedies."""

from __future__ import annotations

import bz2
import codecs
import gzip
import json
import lzma
import re
import subprocess
import sys

import fsspec
import pytest
from click.testing import CliRunner

from airflow_provider_blockread.cli.commands import blockread
from tests.cli.place import Place

_TEXT = b'1,"x\ny"\n2,z\n'
_ROWS = ['1,"x\ny"', "2,z"]


def _records(path: str, *options: str) -> list[str]:
    result = CliRunner().invoke(blockread, ["records", path, *options])
    assert result.exit_code == 0, result.exception
    return [json.loads(line)["record"] for line in result.stdout.splitlines()]


@pytest.mark.parametrize("block_size", ["3", "1MiB"])
@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("x.csv", _TEXT),
        ("x.csv.gz", gzip.compress(_TEXT, mtime=0)),
        ("x.csv.bz2", bz2.compress(_TEXT)),
        ("X.XZ", lzma.compress(_TEXT)),
        ("utf8.csv", codecs.BOM_UTF8 + _TEXT),
        ("utf16.csv", _TEXT.decode().encode("utf-16")),
        ("utf16.csv.gz", gzip.compress(_TEXT.decode().encode("utf-16"), mtime=0)),
    ],
)
def test_the_codec_follows_from_the_name_and_the_encoding_from_the_mark(
    place: Place, name: str, data: bytes, block_size: str
) -> None:
    """On the local disk and in a store, whose open files have names of other forms."""
    place.put({name: data})
    fsspec.filesystem("memory").pipe_file(f"/records/{name}", data)

    for path in (str(place.source / name), f"memory://records/{name}"):
        assert _records(path, "--format", "csv", "--block-size", block_size) == _ROWS


@pytest.mark.parametrize(
    ("name", "data", "options", "message"),
    [
        ("a.gz", b"a\nb\n", [], "/a.gz does not start as gzip data; set compression='none'"),
        (
            "b.gz",
            gzip.compress(_TEXT, mtime=0)[:-2],
            [],
            "/b.gz is truncated: its gzip data end after 12 decoded bytes",
        ),
        (
            "c.log",
            gzip.compress(_TEXT, mtime=0),
            [],
            "/c.log starts with gzip data, .* set compression='gzip', or compression='none'",
        ),
        ("d.json", b"[1, 2", ["--format", "json_array"], r"/d\.json ends inside the json_array record .* byte 4"),
        ("e.json", b"[1, 2] 3", ["--format", "json_array"], r"/e\.json: .*text at byte 7 follows .*layout='values'"),
        (
            "f.log",
            b"a\0",
            ["--format-option", "encoding=utf-16"],
            "/f.log has no byte order mark; set encoding='utf-16-le' or 'utf",
        ),
        ("g.bin", b"abcde", ["--format", "fixed", "--format-option", "length=2"], "/g.bin ends inside .* at byte 4"),
    ],
)
def test_bad_files_are_named_with_what_to_do(
    place: Place, name: str, data: bytes, options: list[str], message: str
) -> None:
    """The message names the file and the offset, also in a store."""
    place.put({name: data})
    fsspec.filesystem("memory").pipe_file(f"/records/{name}", data)

    for path in (str(place.source / name), f"memory://records/{name}"):
        done = CliRunner().invoke(blockread, ["records", path, *options])
        assert (done.exit_code, bool(re.search(message, str(done.exception)))) == (1, True), done.exception


@pytest.mark.parametrize("path", ["nowhere.log", "memory://records/nowhere.gz"])
def test_a_file_that_is_not_there(path: str) -> None:
    """The remedy is to correct the path, as no window has planned the file."""
    done = CliRunner().invoke(blockread, ["records", path])

    assert done.exit_code == 1
    assert str(done.exception).endswith(f"/{path.rpartition('/')[2]} does not exist; correct the path")


def test_records_of_a_compressed_file(place: Place) -> None:
    """A file with a codec's suffix is decoded and is one block, whatever the block size; offsets are decoded ones."""
    path = place.folder / "rows.csv.gz"
    path.write_bytes(gzip.compress(b'a,"x\n') + gzip.compress(b'y"\nb,1\n'))
    result = CliRunner().invoke(blockread, ["records", str(path), "--format", "csv", "--block-size", "3"])
    lines = [json.loads(line) for line in result.stdout.splitlines()]

    assert [(line["block"], line["offset"], line["record"]) for line in lines] == [(0, 0, 'a,"x\ny"'), (0, 8, "b,1")]
    assert {(line["start"], line["end"]) for line in lines} == {(0, path.stat().st_size)}


@pytest.mark.parametrize("name", ["csv", "json_lines", "json_array"])
def test_a_malformed_schema_is_refused(place: Place, name: str) -> None:
    """Though the records that are printed have no columns."""
    place.put({"x": b"1\n"})
    result = CliRunner().invoke(
        blockread, ["records", str(place.source / "x"), "--format", name, "--schema", "x strang"]
    )

    assert "schema 'x strang': column 'x' has the unknown type 'strang'" in str(result.exception)
    assert result.stdout == ""


def test_what_a_format_prints_is_not_output(place: Place) -> None:
    """Standard output has records alone."""
    place.put({"a.log": b"one\ntwo\n"})
    code = "from airflow_provider_blockread.options import Lines\n"
    code += "from airflow_provider_blockread.records.text.lines import LineFormat\n"
    code += "print('at import')\nclass Noisy(LineFormat):\n"
    code += "    def __init__(self):\n        super().__init__(Lines())\n        print('when it is made')\n"
    (place.folder / "noisy_lines.py").write_text(code)
    arguments = (str(place.source / "a.log"), "--format", "custom", "--format-option", "path=noisy_lines:Noisy")
    done = subprocess.run(
        [sys.executable, "-c", "from airflow_provider_blockread.cli import main; main()", "records", *arguments],
        cwd=place.folder,
        capture_output=True,
        text=True,
        check=True,
    )

    assert [json.loads(line)["record"] for line in done.stdout.splitlines()] == ["one", "two"]
    assert done.stderr.splitlines() == ["at import", "when it is made"]
