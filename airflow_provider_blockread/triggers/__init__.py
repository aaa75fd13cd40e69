"""What runs in Airflow's triggerer: nothing here holds up its event loop."""

from __future__ import annotations
