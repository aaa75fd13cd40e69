"""The pages: ledgers and their work areas in a browser. A separate application that is independent of Airflow."""
