"""`blockread schema`: what it prints is what `--schema` takes."""

from __future__ import annotations

import json

from click.testing import CliRunner, Result

from airflow_provider_blockread.cli.commands import blockread
from airflow_provider_blockread.errors import BlockReadError
from tests.cli.place import Place


def _schema(place: Place, *options: str) -> Result:
    result = CliRunner().invoke(blockread, ["schema", str(place.source), *options])
    assert result.exit_code == 0, result.exception
    return result


def test_json_and_csv(place: Place) -> None:
    """Standard output holds the schema alone, for `--schema "$(blockread schema ...)"`."""
    place.put({"a.jsonl": b'{"id": 1}\n', "b.jsonl": b'{"at": "2026-01-02"}\n{"id": "x"}\n[]\n', "c.jsonl": b""})
    place.put({"a.csv": b"id;price\n007;1.5\n", "a.json": b'[{"id": 1},\n{"id": 2.5}]'})
    of_csv = ("--format", "csv", "--pattern", "*.csv", "--format-option", "header=true")

    found = _schema(place, "--format", "json_lines", "--pattern", "*.jsonl")

    assert found.stdout == "id long, at date\n"
    assert found.stderr.splitlines() == [
        "from the first MiB of 2 files",
        "1 record of the sample: no JSON object",
        "id: values of several types, of which the column holds the first: 1 number, 1 string",
    ]
    assert _schema(place, *of_csv, "--format-option", "delimiter=;").stdout == "id string, price double\n"
    assert _schema(place, "--format", "json_array", "--pattern", "*.json").stdout == "id double\n"


def test_a_smaller_sample_as_json(place: Place) -> None:
    """The files that were read are named."""
    place.put({"a.jsonl": b'{"id": 1}\n', "b.jsonl": b'{"at": "2026-01-02"}\n'})

    found = json.loads(_schema(place, "--format", "json_lines", "--files", "1", "--json").stdout)

    path = (place.source / "a.jsonl").as_uri()
    assert found == {"schema": "id long", "files": [path], "unfit": [], "not_objects": 0}


def _refused(place: Place, *options: str) -> str:
    result = CliRunner().invoke(blockread, ["schema", str(place.source), *options])
    assert isinstance(result.exception, BlockReadError)
    assert result.stdout == ""
    return str(result.exception)


def test_a_source_without_records(place: Place) -> None:
    """Nothing is made up; another pattern finds some."""
    place.put({"a.csv": b"", "b.txt": b"1,2\n"})

    said = _refused(place, "--format", "csv", "--pattern", "*.csv")

    assert said.endswith("has no file with a record; check the source and --pattern")
    assert _schema(place, "--format", "csv", "--pattern", "*").stdout == "_c0 long, _c1 long\n"


def test_a_sample_without_objects(place: Place) -> None:
    """A larger one may have some."""
    place.put({"a": b"1\n", "b": b'{"id": 1}\n'})

    said = _refused(place, "--format", "json_lines", "--files", "1")

    assert said.startswith(f"the columns cannot be inferred, {(place.source / 'a').as_uri()}: none of 1 record")
    assert said.endswith("check the format, or sample more files")
    assert _schema(place, "--format", "json_lines").stdout == "id long\n"


def test_files_with_other_headers(place: Place) -> None:
    """The error names the second one, and the options of this command that take both or one of them."""
    place.put({"a": b"x\n1\n", "b": b"y\n1\n"})
    csv = ("--format", "csv", "--format-option", "header=true")

    said = _refused(place, *csv)
    assert f"inferred, {(place.source / 'b').as_uri()}: the headers of the files differ" in said
    assert said.endswith("; set --format-option columns=by_name, or exclude one of the files with --exclude")
    assert _schema(place, *csv, "--exclude", "b").stdout == "x long\n"
    assert _schema(place, *csv, "--format-option", "columns=by_name").stdout == "x long, y long\n"


def test_a_schema_in_place_of_a_sample(place: Place) -> None:
    """It would say what is to be found; without it, the sample does."""
    place.put({"a": b"1\n"})
    given = ("--format", "csv", "--format-option", "schema=x string")

    assert _refused(place, *given).endswith("the schema is what this command finds; leave out --format-option schema")
    assert _schema(place, *given[:2]).stdout == "_c0 long\n"


def test_keys_that_objects_have_twice(place: Place) -> None:
    """Their records are bad under the schema, unless the key is in none of its columns."""
    twice = b'{"id": 1, "id": 2, "": 0, "": 0}\n{"in": {"x": 1, "x": 2}}\n{"in": {"x": 1, "y": [{}], "y": []}}\n'
    place.put({"a": twice + b'{"id": 1}\n'})

    found = _schema(place, "--format", "json_lines")

    assert found.stdout == "id long, in struct<x: long>\n"
    assert [line for line in found.stderr.splitlines() if "repeated" in line] == [
        "id: repeated within an object 1 time; such records are bad under the schema",
        "in.x: repeated within an object 1 time; such records are bad under the schema",
    ]
