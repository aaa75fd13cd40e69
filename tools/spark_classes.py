"""A Spark application that loads the classes which this package's own ones load, for a JVM that archives them."""

from __future__ import annotations

from pyspark import SparkContext
from pyspark.sql import SparkSession


def main() -> None:
    """Run a job of two tasks, and a query with a function of batches."""
    context = SparkContext()
    context.setJobDescription("two tasks")
    context.parallelize([1, 2], 2).mapPartitions(list).collect()
    context.statusTracker().getActiveStageIds()
    numbers = SparkSession.builder.getOrCreate().range(0, 4, 1, 2)
    numbers.mapInArrow(lambda batches: batches, numbers.schema).selectExpr("id % 2 AS half").groupBy(
        "half"
    ).count().collect()
    context.stop()


if __name__ == "__main__":
    main()
