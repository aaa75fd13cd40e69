"""Triggers, which run in Airflow's triggerer and never block its event loop."""

from __future__ import annotations
