"""The page of the data source: its snippets run in a session, and its tables are complete."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from airflow_provider_blockread.options import FORMATS
from airflow_provider_blockread.spark import register
from airflow_provider_blockread.spark.data_source.options import OPTIONS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PAGE = (Path(__file__).parents[3] / "docs" / "data_source.md").read_text("utf-8")


@pytest.mark.spark
def test_every_snippet_runs(spark: SparkSession, tmp_path: Path) -> None:
    """One after the other in one session, on files of this machine; the DataFrames have their rows."""
    for name, data in (("events", b'id,msg\n1,"a\nb"\n2,c\n'), ("logs", b"one\nTimeout\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_bytes(data)
    names: dict[str, object] = {"spark": spark}
    for snippet in re.findall(r"^```python\n(.*?)^```", _PAGE, re.MULTILINE | re.DOTALL):
        exec(snippet.replace("s3://landing", str(tmp_path)), names)  # noqa: S102 - our own documentation
    register(spark)
    found = {name: names[name].collect() for name in ("events", "landed", "logs", "few", "typed", "again")}  # type: ignore[attr-defined]

    assert [(row.id, row.msg) for row in found["events"]] == [(1, "a\nb"), (2, "c")]
    assert found["landed"] == found["events"]
    assert [row._offset for row in found["logs"]] == [0, 4]
    assert [list(row.asDict()) for row in (found["few"][0], found["typed"][0])] == [["id", "_file"], ["id"]]
    assert [row.value for row in found["again"]] == ["one", "Timeout"]


def test_every_option_has_a_row() -> None:
    """The table has the options in their order, those of formats are on the page of options, and formats are named."""
    rows = re.findall(r"^\| `(\w+)` \| ", _PAGE.partition("## Options")[2], re.MULTILINE)

    assert rows == list(OPTIONS)
    assert [name for name in FORMATS if name != "custom" and f"`{name}`" not in _PAGE] == []
