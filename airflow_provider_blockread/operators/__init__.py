"""The steps of a window, and its upkeep, as Airflow operators: thin wrappers around `steps`."""
