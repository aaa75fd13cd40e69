"""A Spark application that loads the classes which this package's own ones load, for a JVM that archives them."""

from __future__ import annotations

from pyspark import SparkContext


def main() -> None:
    """Run a job of two tasks."""
    context = SparkContext()
    context.setJobDescription("two tasks")
    context.parallelize([1, 2], 2).mapPartitions(list).collect()
    context.statusTracker().getActiveStageIds()
    context.stop()


if __name__ == "__main__":
    main()
