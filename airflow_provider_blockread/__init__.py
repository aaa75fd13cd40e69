"""Files become records on Spark, exactly once, driven by Airflow."""

__version__ = "0.1.0"
