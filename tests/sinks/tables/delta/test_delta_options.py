"""What the options of a Delta table refuse."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.options import DeltaSink
from airflow_provider_blockread.sinks.registry import make_sink
from tests.sinks.kinds import STORES, Bench


@pytest.mark.parametrize("mode", ["name", "id"])
def test_columns_of_other_names_in_files(mode: str) -> None:
    """Readers would find none of the columns under such a name; without the mapping they do."""
    with pytest.raises(OptionsError, match=r"delta\.columnMapping\.mode gives columns other names .*; leave it out"):
        DeltaSink("/lake", properties={"delta.columnMapping.mode": mode})
    DeltaSink("/lake", properties={"delta.columnMapping.mode": "none"})


@pytest.mark.parametrize(
    ("place", "held"),
    [
        ("/lake/a%20b", "'%20'"),
        (r"/lake/a\b", r"'\\\\'"),
        ("/lake/a\tb", r"'\\t'"),
        ("s3://lake/a#b", "'#'"),
        ("s3://lake/a//b", "'//'"),
    ],
)
def test_a_path_that_the_library_reads_otherwise(tmp_path: Path, place: str, held: str) -> None:
    """Its first version would be in another folder; under another name it is not."""
    with pytest.raises(OptionsError, match=f"a Delta table's path cannot hold {held}, .*; rename the folder"):
        make_sink(STORES, DeltaSink(place)).prepare(None, "")
    bench = Bench("delta", str(tmp_path / "a#20b"))
    bench.publish("a")

    assert (tmp_path / "a#20b" / "_delta_log").is_dir()


@pytest.mark.parametrize("name", ["delta.appendonly", "delta.enableRowTracking", "owner"])
def test_a_property_that_the_library_does_not_have(tmp_path: Path, name: str) -> None:
    """It is named before anything is read; a table that is there takes rows without it."""
    place = str(tmp_path / "out")
    option = DeltaSink(place, properties={"delta.appendOnly": "false", name: "true"})
    with pytest.raises(OptionsError, match=f"create a table with this property .*'{name}'.*; correct properties"):
        make_sink(STORES, option).prepare(None, "")
    bench = Bench("delta", place, {"properties": {"delta.appendOnly": "false"}})
    bench.publish("a")

    make_sink(STORES, option).prepare(None, "")
