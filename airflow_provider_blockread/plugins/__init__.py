"""What this package adds to Airflow's web server: the pages, and tabs where people already are."""
