"""What this package adds to Airflow's web server: the pages, and tabs in Airflow's own pages."""
