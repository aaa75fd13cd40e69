"""Each error of the data source: what it advises works."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_blockread.errors import FileChangedError, FileMissingError, OptionsError, RecordError, SourceError
from tests.spark.data_source.source_here import VARIANTS, Query

ROWS = b'id,msg\n1,"a\nb"\n2,c\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a file of csv."""
    (tmp_path / "a.csv").write_bytes(ROWS)
    return tmp_path


def refused(folder: Path | str, error: type[Exception] = OptionsError, **options: Any) -> str:
    """Return what a query says that is refused."""
    with pytest.raises(error) as raised:
        Query(folder, **options).rows()
    return str(raised.value)


def test_a_format_or_option_of_another_name(folder: Path) -> None:
    """The nearest name is the right one; where none is near, the known ones are listed."""
    assert refused(folder, format="cvs") == "blockread has no format 'cvs'; did you mean 'csv'?"
    assert "known are csv, delimited" in refused(folder, format="parquet")
    assert refused(folder, block_sise="1").endswith("did you mean 'block_size'?")
    assert refused(folder, format="csv", sep=";").endswith("did you mean 'delimiter' of csv, delimited, escaped?")
    assert refused(folder, headr="true").endswith("for format 'lines'; did you mean 'header' of csv?")
    assert refused(folder, format="csv", multiline="true").endswith(
        "; leave it out: format csv reads newlines in quotes as they are"
    )
    assert "; leave it out: format csv infers its columns" in refused(folder, format="csv", inferschema="true")
    assert "; leave it out: files are found at any depth" in refused(folder, recursivefilelookup="true")
    assert "known are block_size, blocks, columns," in refused(folder, zzz="1")
    assert refused(folder, format="custom").startswith("blockread has no format 'custom'; did you")

    assert len(Query(folder, format="csv", header="true", block_size="4").rows()) == 2


@pytest.mark.parametrize("number", ["0", "-1", "1.5", "\xb2", "many"])
def test_a_number_of_readers_that_is_none(folder: Path, number: str) -> None:
    """It is a whole number above 0."""
    assert "max_readers must be a whole number above 0, not" in refused(folder, max_readers=number)

    assert len(Query(folder, max_readers="1").rows()) == 4


def test_a_load_without_a_path(folder: Path) -> None:
    """A path is needed, or several."""
    assert "load(" in refused(folder, paths="[]")

    assert len(Query(folder, paths=json.dumps([str(folder / "a.csv")])).rows()) == 4


def test_arguments_of_a_format_that_are_no_json(folder: Path) -> None:
    """They are a JSON object."""
    own = {"format": "quoted_lines:QuotedLines"}
    assert "must be a JSON object" in refused(folder, **own, options="quote=x")

    assert len(Query(folder, **own, options="{}").rows()) == 3


def test_a_format_that_cannot_be_imported(folder: Path) -> None:
    """The remedy is that of a session, and not of a job."""
    said = refused(folder, format="no_such_lines:QuotedLines")

    assert "'no_such_lines:QuotedLines' cannot be imported (ModuleNotFoundError" in said
    assert said.endswith("PYTHONPATH here and on the executors with spark.addArtifacts(..., pyfile=True)")


def test_quarantine(folder: Path) -> None:
    """It is refused with the reason; dropping works."""
    (folder / "bad.csv").write_bytes(b"\xff\n")
    assert "set 'drop' to leave" in refused(folder, on_bad_record="quarantine")
    assert "on_bad_record must be one of fail, drop" in refused(folder, on_bad_record="skip")

    assert len(Query(folder, on_bad_record="drop").rows()) == 4


def test_a_bad_record(folder: Path) -> None:
    """The error names file, block and byte; the policy, or a corrected file, helps."""
    bad = folder / "b.csv"
    bad.write_bytes(b"id,msg\nx,a\n3,d\n")
    csv = {"format": "csv", "header": "true", "typed": "id long, msg string"}
    said = refused(folder, RecordError, **csv)
    assert f"csv record at byte 7 of {bad.as_uri()} block 1 bytes [0, 15), line 2: column 'id'" in said
    assert said.endswith("correct the file or the format's options, or set on_bad_record to 'drop'")

    assert [row["id"] for row in Query(folder, **csv, on_bad_record="drop").rows()] == [1, 2, 3]
    bad.write_bytes(b"id,msg\n3,d\n")
    assert [row["id"] for row in Query(folder, **csv).rows()] == [1, 2, 3]


def test_columns_that_are_not_there(folder: Path) -> None:
    """The option names columns of the files, each once."""
    csv = {"format": "csv", "header": "true"}
    said = refused(folder, **csv, columns="msk")
    assert said == "blockread: columns='msk' names no column of the files; there are id, msg, _file, _block, _offset"
    assert "names a column twice" in refused(folder, **csv, columns="*,msg")

    assert [list(row) for row in Query(folder, **csv, columns="msg,_block").rows()] == [["msg", "_block"]] * 2


def test_a_schema_that_the_files_do_not_have(folder: Path) -> None:
    """Raw records have one column; where the option `schema` has the files' own, `.schema(...)` may have some."""
    said = refused(folder, typed="line string")
    assert said.startswith("blockread: .schema(...) has line string, but format lines has value string, _file string")
    assert "has value binary, but" in refused(folder, typed="value binary")
    assert Query(folder, typed="value binary, _offset long", encoding="binary").rows()[1]["_offset"] == 7

    csv = {"format": "csv", "header": "true", "schema": "id long, msg string"}
    assert "has id string, but format csv has id long, msg string" in refused(folder, **csv, typed="id string")
    assert "has id long not null, but" in refused(folder, **csv, typed="id long not null")
    assert Query(folder, **csv, typed="msg string").rows() == [{"msg": "a\nb"}, {"msg": "c"}]


def test_a_type_that_spark_lacks(folder: Path) -> None:
    """The error names the column, and another type is taken; so it is where the type is in a list."""
    csv = {"format": "csv", "header": "true", "columns": "id"}
    said = refused(folder, **csv, schema="id halffloat, msg string")
    assert said == (
        "blockread: column 'id' is of type halffloat, which Spark does not have; declare another type in the schema"
    )
    assert "column 'a' is of type list<item: uint8>" in refused(folder, format="json_lines", schema="a array<uint8>")
    assert "column 'a' is of type list<item: timestamp[ns]>" in refused(
        folder, format="json_lines", schema="a array<timestamp[ns]>"
    )
    assert "column 'id' is of type uint8" in refused(folder, **csv, schema="id uint8, msg string", typed="id short")

    assert [row["id"] for row in Query(folder, **csv, schema="id short, msg string").rows()] == [1, 2]

    for variant in VARIANTS:
        assert "no format reads a variant; declare a string" in refused(folder, format="json_lines", typed=variant)


def test_columns_by_two_ways(folder: Path) -> None:
    """`.schema(...)` and `columns` must not disagree; either of them works with the option `schema`."""
    csv = {"format": "csv", "header": "true", "schema": "id long, msg string"}
    assert "give the columns of the files by the option schema" in refused(
        folder, **csv, typed="id long, msg string", columns="id"
    )

    assert Query(folder, **csv, columns="id").rows() == Query(folder, **csv, typed="id long").rows()


def test_files_and_blocks_that_are_not_there(folder: Path) -> None:
    """The columns `_file` and `_block` name what can be chosen."""
    assert "name files as _file does" in refused(folder, files="b.csv")
    assert "blocks=0-9 is not among the 5 blocks; name blocks as _block does" in refused(
        folder, blocks="0-9", block_size="4"
    )
    for wrong in ("all", "3-1"):
        assert "as in 0-3,7" in refused(folder, blocks=wrong)

    rows = Query(folder, block_size="4", columns="*,_file,_block").rows()
    chosen = Query(folder, block_size="4", columns="*,_file,_block", files=rows[0]["_file"], blocks="1-2").rows()
    assert chosen == [row for row in rows if row["_block"] in {1, 2}]


def test_headers_that_differ(folder: Path) -> None:
    """The error names the file; `columns=by_name`, or leaving it out, works."""
    (folder / "b.csv").write_bytes(b"id,other\n3,d\n")
    csv = {"format": "csv", "header": "true"}
    said = refused(folder, RecordError, **csv)
    assert said.startswith(f"the columns cannot be inferred, {(folder / 'b.csv').as_uri()}: the headers of the")
    assert said.endswith("set columns='by_name', or exclude one of the files with the option `exclude`")

    assert [len(row) for row in Query(folder, **csv, columns="by_name").rows()] == [3] * 3
    assert len(Query(folder, **csv, exclude="b.csv").rows()) == 2


def test_a_file_that_changes_after_load(folder: Path) -> None:
    """The error names it; another load reads it as it is."""
    query = Query(folder)
    (folder / "a.csv").write_bytes(b"changed\n")
    with pytest.raises(FileChangedError, match=r"exclude it with the option `exclude`.*; load\(\) lists the files as"):
        query.rows()
    assert Query(folder).rows() == [{"value": "changed"}]

    query = Query(folder)
    (folder / "a.csv").unlink()
    with pytest.raises(FileMissingError, match=r"; load\(\) lists the files as they are now"):
        query.rows()
    assert Query(folder).rows() == []


def test_a_source_that_is_not_there(tmp_path: Path) -> None:
    """The error says so; once the folder is there, it is read."""
    said = refused(tmp_path / "in", SourceError)
    assert said.endswith("does not exist; correct its path, or create it before the first file lands")

    (tmp_path / "in").mkdir()
    assert Query(tmp_path / "in").rows() == []


def test_limits_are_named_as_options(folder: Path) -> None:
    """What a policy of windows limits is an option here."""
    (folder / "a.csv").write_bytes(b"x" * 200_000)
    said = refused(folder, RecordError, max_record_bytes="1000")
    assert said.endswith("correct the format's options, or raise the option `max_record_bytes`")

    assert len(Query(folder, max_record_bytes="200000").rows()) == 1


def test_a_link_out_of_the_source(tmp_path: Path) -> None:
    """A file behind a link is left out, unless links may lead anywhere."""
    (tmp_path / "in").mkdir()
    (tmp_path / "out").write_bytes(b"1\n")
    (tmp_path / "in" / "link").symlink_to(tmp_path / "out")

    assert Query(tmp_path / "in").rows() == []
    assert Query(tmp_path / "in", follow_links="anywhere").rows() == [{"value": "1"}]
