"""How many partitions DataFrames of a user have in a Connect session that tasks also run in."""

from __future__ import annotations

import pytest

from airflow_provider_blockread.errors import SparkJobError
from airflow_provider_blockread.spark.engines import connect
from tests.spark.engines.engine_tasks import divides, doubled, one_block


@pytest.mark.spark
@pytest.mark.parametrize("own", ["7", None])
def test_the_partitions_of_the_user(connect_engine: connect.ConnectEngine, own: str | None) -> None:
    """As many as the session's configuration says, after a run and after one that failed."""
    conf = connect_engine.connected.conf
    if own is not None:
        conf.set(connect._PARTITIONS, own)
    connect_engine.run(doubled, range(3), title="doubling", report=lambda _: None, measure=one_block)
    assert conf.get(connect._PARTITIONS, None) == own
    with pytest.raises(SparkJobError):
        connect_engine.run(divides, [1, 0], title="dividing", report=lambda _: None, measure=one_block)
    assert conf.get(connect._PARTITIONS, None) == own
    conf.unset(connect._PARTITIONS)
