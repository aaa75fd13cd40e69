"""The transactions of a window in a Delta table's log, by which a later try finds what was committed."""

from __future__ import annotations

from deltalake import CommitProperties, Transaction

from airflow_provider_blockread.sinks.protocol import Marker


def application(marker: Marker) -> str:
    """Return the application whose transaction is the marker of a window's newest change."""
    return f"blockread/{marker.ledger}/{marker.feed}/{marker.window}"


def schema_application(marker: Marker) -> str:
    """Return the application whose transaction records which change of a window has added columns."""
    return f"{application(marker)}/schema"


def commit_properties(marker: Marker) -> CommitProperties:
    """Return the properties of the commit, without retries by the library, which would not look for the files again."""
    return CommitProperties(
        custom_metadata=marker.noted,
        max_commit_retries=0,
        app_transactions=[Transaction(app_id=application(marker), version=marker.number)],
    )
