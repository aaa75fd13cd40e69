"""Behaviour suites for your own classes, to run with pytest: `pip install airflow-provider-blockread[testing]`."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite(f"{__name__}.sinks")  # before it is imported, so that failures show their values

from airflow_provider_blockread.testing.bench import Bench, SinkCase  # noqa: E402
from airflow_provider_blockread.testing.sinks import SinkBehaviour, SinkLaws, SinkSuite  # noqa: E402

__all__ = ["Bench", "SinkBehaviour", "SinkCase", "SinkLaws", "SinkSuite"]
