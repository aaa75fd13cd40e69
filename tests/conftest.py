"""What all tests share: Hypothesis profiles, and an Airflow home that is nobody's own."""

from __future__ import annotations

import atexit
import os
import tempfile

from hypothesis import HealthCheck, settings

settings.register_profile("ci", derandomize=True, deadline=None, max_examples=100, print_blob=True)
settings.register_profile(
    "deep", deadline=None, max_examples=3000, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("ci")

# Airflow makes its home when it is first imported, wherever that happens; it must not be the user's.
_HOME = tempfile.TemporaryDirectory(prefix="blockread-airflow-")
atexit.register(_HOME.cleanup)
os.environ["AIRFLOW_HOME"] = _HOME.name
os.environ["AIRFLOW__CORE__LOAD_EXAMPLES"] = "False"
os.environ["AIRFLOW__CORE__DAGS_FOLDER"] = f"{_HOME.name}/dags"
os.environ["AIRFLOW__USAGE_DATA_COLLECTION__ENABLED"] = "False"
