"""The Spark application that reads one block group; pyspark is imported only in `job`."""
