"""Custom sinks: imported by path, and checked before a window is planned with them."""

from __future__ import annotations

from typing import cast

from airflow_provider_blockread.options import CustomSink
from airflow_provider_blockread.records.custom import Demands, make_object
from airflow_provider_blockread.sinks.protocol import Access, RecordSink
from airflow_provider_blockread.storage import Stores

_SINK = Demands(
    what="sink",
    base="sinks.Directory",
    page="docs/how_to/own_sink.md",
    values={"uri": str, "kind": str, "in_place": bool},
    methods=("prepare", "writer", "placed", "count", "steps", "state", "apply", "undo", "sweep", "is_empty"),
)


def make_custom(stores: Stores, option: CustomSink, access: Access) -> RecordSink:
    """Return the user's sink.

    Raises:
        OptionsError: when it cannot be imported or built, or does not implement the protocol of sinks.
    """
    made = make_object(option.path, option.options, _SINK, lambda cls, own: cls(stores, option, access, **own))
    return cast("RecordSink", made)
