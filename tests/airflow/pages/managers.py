"""An auth manager that knows DAGs: Airflow's simple one, whose users' names may say which DAGs they see."""

from __future__ import annotations

from typing import Any

from airflow.api_fastapi.auth.managers.simple.simple_auth_manager import SimpleAuthManager


class PerDagManager(SimpleAuthManager):
    """A user named `carl-only-beta` may do what the role says, and with no other DAG than `beta`."""

    def is_authorized_dag(self, *, user: Any, details: Any = None, **asked: Any) -> bool:
        """Return what the role says, for the user's own DAG."""
        _, only, dag = user.get_name().partition("-only-")
        if only and (details is None or details.id != dag):
            return False
        hides = "-nologs" in user.get_name() and str(getattr(asked.get("access_entity"), "name", "")) == "TASK_LOGS"
        return not hides and super().is_authorized_dag(user=user, details=details, **asked)
