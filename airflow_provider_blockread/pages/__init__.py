"""The pages: what a browser shows of ledgers and their work areas. An application of its own that knows no Airflow."""
