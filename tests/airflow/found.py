"""An operator that returns paths it found."""

from __future__ import annotations

from typing import Any

from airflow.sdk import BaseOperator


class Found(BaseOperator):
    """Hands on what it is given, as a sensor or another system would, with an event's extra for its outlets."""

    def __init__(self, *, found: Any, extras: dict[str, Any] | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.found = found
        self.extras = extras

    def execute(self, context: Any) -> Any:
        """Return it."""
        for asset in self.outlets:
            context["outlet_events"][asset].extra = self.extras
        return self.found
