"""How DAGs of tests read with Spark, and what they have published."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq

from airflow_provider_blockread.options import SparkJob

QUICK = {
    "spark.ui.enabled": "false",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",  # a third less time to start
}
SPARK = SparkJob(master="local[1]", conf=QUICK)
SUCCESS = {"logs.plan": "success", "logs.read[0]": "success", "logs.commit": "success"}


def values(lake: Path) -> list[str]:
    """Return all that is published, sorted."""
    return sorted(v for path in lake.glob("*.parquet") for v in pq.read_table(path).column("value").to_pylist())


def attempts(lake: Path) -> list[str]:
    """Return whose files are published: groups with the epoch of the attempt that read them."""
    return sorted(path.name.split("-t")[0][-8:] for path in lake.glob("*.parquet"))


def lines(**counts: int) -> list[str]:
    """Return the lines of the files that `land` makes, sorted."""
    return sorted(f"{name} {number}" for name, count in counts.items() for number in range(count))
