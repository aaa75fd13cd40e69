"""What Airflow's side and Spark's side exchange through the work area; neither imports the other."""
