"""Pages for tabs in Airflow: of a DAG, a run and a task instance, which Airflow's ids in the query identify."""
