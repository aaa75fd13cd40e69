"""Pages for places in Airflow: a DAG, a run and a task instance. They are named by Airflow's ids, in the query."""
