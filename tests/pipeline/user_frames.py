"""What users of this package write: functions of DataFrames, named by import path."""

from __future__ import annotations

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def identity(records: DataFrame) -> DataFrame:
    """Return the records as they are."""
    return records


def largest(records: DataFrame) -> DataFrame:
    """Sort and limit."""
    return records.orderBy(records["id"].desc()).limit(3)


def joined(records: DataFrame) -> DataFrame:
    """Join the records with themselves."""
    from pyspark.sql.functions import expr

    left, right = records.alias("l"), records.alias("r")
    return left.join(right, expr("l.id = r.id + 1")).selectExpr("l.id AS id", "r.id AS before")


def cached(records: DataFrame) -> DataFrame:
    """Keep the records in memory, and act on them more than once."""
    kept = records.cache()
    total, largest_id = kept.count(), kept.agg({"id": "max"}).first()[0]
    return kept.filter(kept["id"] >= largest_id - 1).selectExpr("id", f"{total}L AS total")


def caches_and_raises(records: DataFrame) -> DataFrame:
    """Keep the records in memory, and raise."""
    cached(records)
    msg = "after all"
    raise ValueError(msg)


def with_a_session(records: DataFrame) -> DataFrame:
    """Join the records with rows of the session that the usual call returns, in this thread and in another."""
    from pyspark.sql import SparkSession

    with ThreadPoolExecutor(1) as other:
        for session in (SparkSession.builder.appName("mine").getOrCreate(), other.submit(_session).result()):
            records = records.join(session.range(3), "id")
    return records.select("id")


def _session() -> SparkSession:
    from pyspark.sql import SparkSession

    return SparkSession.builder.getOrCreate()


def counted(records: DataFrame) -> DataFrame:
    """Aggregate to one row."""
    return records.selectExpr("count(*) AS n", "sum(id) AS s", "count(DISTINCT word) AS words")


def ignores(records: DataFrame) -> DataFrame:
    """Return rows of another origin."""
    return records.sparkSession.createDataFrame([(7,)], "n long")


def none(records: DataFrame) -> DataFrame:
    """Keep no record."""
    return records.filter("false")


def nothing(records: DataFrame) -> None:
    """Return nothing."""
    del records


def rows(records: DataFrame) -> list[object]:
    """Return something else than a DataFrame."""
    return records.collect()


def pandas(records: DataFrame) -> object:
    """Return a DataFrame of pandas."""
    return records.toArrow().to_pandas()  # `toPandas` warns of newer pandas


def raises(records: DataFrame) -> DataFrame:
    """Raise in the driver."""
    del records
    msg = "cannot bear it"
    raise ValueError(msg)


def leaves(records: DataFrame) -> DataFrame:
    """End the process, or try to."""
    del records
    sys.exit(0)


def stops(records: DataFrame) -> DataFrame:
    """Stop Spark, as scripts do at their end."""
    records.count()
    records.sparkSession.stop()
    return records


def misspells(records: DataFrame) -> DataFrame:
    """Name a column that is not there."""
    return records.select("idd")


def twice(records: DataFrame) -> DataFrame:
    """Return two columns of one name."""
    return records.selectExpr("id AS a", "word AS a")


def dotted(records: DataFrame) -> DataFrame:
    """Return columns with names that Spark writes in backquotes."""
    return records.selectExpr("id AS `a.b`", "word AS `c d`")


def raises_in_tasks(records: DataFrame) -> DataFrame:
    """Raise in the tasks, with a record in the message."""
    from pyspark.sql.functions import udf

    def broken(word):  # noqa: ANN001, ANN202 - Spark warns of annotations that are text
        msg = f"no idea what {word} means"
        raise KeyError(msg)

    return records.select(udf(broken, "string")(records["word"]).alias("word"))


def locks(records: DataFrame) -> DataFrame:
    """Give its tasks what cannot be sent to them."""
    from pyspark.sql.functions import udf

    lock = threading.Lock()

    def held(word):  # noqa: ANN001, ANN202 - as above
        with lock:
            return word

    return records.select(udf(held, "string")(records["word"]).alias("word"))


def quotes(records: DataFrame) -> DataFrame:
    """Raise in the tasks with a record as it is."""
    from pyspark.sql.functions import udf

    def broken(word):  # noqa: ANN001, ANN202 - as above
        raise ValueError(word)

    return records.select(udf(broken, "string")(records["value"]).alias("word"))


def fails_once(records: DataFrame) -> DataFrame:
    """Raise in the first attempt at one of the partitions, after rows of it were passed on."""
    from pyspark.sql.functions import udf

    marks = os.environ["BLOCKREAD_TEST_MARKS"]

    def wavering(number):  # noqa: ANN001, ANN202 - as above
        if number == 399:
            try:
                os.close(os.open(Path(marks) / "frame failed", os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                return number
            msg = "the network was away"
            raise OSError(msg)
        return number

    return records.repartition(4, "id").select(udf(wavering, "long")(records["id"]).alias("id"))


def kills_spark(records: DataFrame) -> DataFrame:
    """Kill the JVM that the worker works for, the first time, when the records are read."""
    from pyspark.sql.functions import udf

    marks = os.environ["BLOCKREAD_TEST_MARKS"]

    def deadly(number):  # noqa: ANN001, ANN202 - as above
        import time

        import psutil

        mark = Path(marks) / "frame killed"
        if number == 399 and not mark.exists():
            mark.touch()
            next(process for process in psutil.Process().parents() if "java" in process.name()).kill()
            time.sleep(60)
        return number

    return records.select(udf(deadly, "long")(records["id"]).alias("id"))


def repartitioned(records: DataFrame) -> DataFrame:
    """Return the records in several partitions, some of them empty."""
    return records.repartition(5)


def fails_and_kills(records: DataFrame) -> DataFrame:
    """Raise once at one record, and kill the executor once at another, while rows are written."""
    from user_functions import fails_and_kills as function

    return records.repartition(4).mapInArrow(lambda batches: map(function, batches), "value string")


def sleeps_once(records: DataFrame) -> DataFrame:
    """Be slow in the first attempt at one record, until another attempt has come by."""
    from user_functions import sleeps_once as function

    return records.repartition(4).mapInArrow(lambda batches: map(function, batches), "value string")


def kills_after_a_shuffle(records: DataFrame) -> DataFrame:
    """Kill an executor once at one record, when all of them hold output of the stage before."""
    from user_functions import kills_spark

    spread = records.repartition(4).mapInArrow(lambda batches: batches, "value string")
    return spread.repartition(5).mapInArrow(lambda batches: map(kills_spark, batches), "value string")


def nested(records: DataFrame) -> DataFrame:
    """Return lists and structs that, as Spark knows, hold no nulls."""
    return records.selectExpr("id", "array(struct(word, id + 1L AS next)) AS words", "named_struct('one', 1) AS fix")
