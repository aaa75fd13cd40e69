"""The ledger: what was found, planned, read, proven and published, in SQL (SQLite or PostgreSQL).

Only code on the Airflow side writes here; Spark never sees this database.
"""
