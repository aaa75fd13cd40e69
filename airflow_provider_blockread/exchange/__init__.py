"""What Airflow's side and Spark's side hand each other through the work area; neither imports the other."""
